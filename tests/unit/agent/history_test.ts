import assert from "node:assert/strict";
import { readHistory } from "../../../core/agent/history_view.ts";
import { keyId } from "../../../core/protocol/dsse.ts";
import { parseConfig } from "../../../core/state/config.ts";
import type { HistoryEntry } from "../../../core/state/history.ts";
import { CONFIG_FILE, HISTORY_FILE, IDENTITY_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { approve, KEYS, settled, subjectOf, TARGET } from "./owner.ts";
import { createSettledWorld, type World } from "./world.ts";

async function entriesOf(world: World): Promise<readonly HistoryEntry[]> {
  const history = await readHistory(world.disk);
  assert.ok(history.ok, history.ok ? "" : history.error);
  assert.deepEqual(history.value.problems, []);
  return history.value.entries;
}

function textAt(world: World, path: string): string {
  return world.disk.text(path) ?? "";
}

const whats = (entries: readonly HistoryEntry[]) => entries.map(({ what }) => what);
const of = (entries: readonly HistoryEntry[], what: string) =>
  entries.filter((entry) => entry.what === what);

const REVOKE = { id: "op-1", kind: "access.revoke", params: { everyone: true } };

Deno.test("history: the enrollment, what was accepted and an operation, with the key that proves each", async () => {
  const world = await createSettledWorld({ hasPortalKeys: true });
  const config = parseConfig(textAt(world, CONFIG_FILE));
  assert.ok(config.ok);
  const by = { who: "portal", key: keyId(config.value.trust.portalKeys[0] ?? new Uint8Array()) };
  const queued = world.portal.offer(REVOKE);
  await world.pass(90_000);
  assert.equal(queued.result?.state, "succeeded");
  const entries = await entriesOf(world);
  assert.deepEqual(whats(entries), [
    "enrolled",
    "trust_changed",
    "desired_accepted",
    "operation_begun",
    "operation_ended",
  ]);
  for (const what of ["enrolled", "desired_accepted", "operation_begun"]) {
    assert.deepEqual(of(entries, what)[0]?.by, by, what);
  }
  const { agent_id } = world.stored(IDENTITY_FILE).binding;
  assert.ok(entries.every(({ agent }) => agent === agent_id));
  const [accepted] = of(entries, "desired_accepted");
  assert.deepEqual([accepted?.["revision"], accepted?.["changed"]], [1, null]);
  const release = accepted?.["release"] as { version: string; key: string };
  assert.equal(release.version, "1.0.0");
  assert.match(release.key, /^[0-9a-f]{16}$/);
  const [begun] = of(entries, "operation_begun");
  assert.deepEqual([begun?.["id"], begun?.["params"]], ["op-1", '{"everyone":true}']);
  const [ended] = of(entries, "operation_ended");
  assert.deepEqual([ended?.["state"], ended?.by.who], ["succeeded", "agent"]);
  await world.stop();
});

Deno.test("history: without portal_keys the portal is unproven", async () => {
  const world = await createSettledWorld();
  const entries = await entriesOf(world);
  assert.deepEqual(whats(entries), ["enrolled", "desired_accepted"]);
  for (const { by } of entries) assert.deepEqual(by, { who: "portal", key: null });
  await world.stop();
});

Deno.test("history: says by whose key an operation and a change were approved", async () => {
  const world = await settled();
  const offer = { ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] };
  world.portal.offer(offer);
  await world.pass(90_000);
  const elsewhere = { ...TARGET, bucket: "elsewhere" };
  const secrets = { access_key: { plain: "ACCESSKEY" }, secret_key: { plain: "secret-key" } };
  const full = { endpoint_ca: null, bucket_lookup: "auto" };
  const change = {
    kind: "change",
    what: "s3_target",
    from: { ...TARGET, ...full },
    to: { ...elsewhere, ...full },
  } as const;
  world.portal.desire({
    secrets: { etcd_s3: { ...elsewhere, ...secrets } },
    approvals: [approve(world, change)],
  });
  await world.pass(90_000);
  const entries = await entriesOf(world);
  const fingerprint = `${/SHA256:\S+/.exec(JSON.stringify(of(entries, "trust_changed")))?.[0]}`
    .replace(/".*/, "");
  const [begun] = of(entries, "operation_begun");
  assert.deepEqual(begun?.["approvals"], [{ owner: "owner-0", fingerprint }]);
  const accepted = of(entries, "desired_accepted").at(-1);
  assert.deepEqual(accepted?.["approvals"], [{
    owner: "owner-0",
    fingerprint,
    change: "s3_target",
  }]);
  const changed = accepted?.["changed"] as { path: string }[];
  assert.deepEqual(changed.find(({ path }) => path === "secrets.etcd_s3.bucket"), {
    path: "secrets.etcd_s3.bucket",
    from: "pbx-snapshots",
    to: "elsewhere",
  });
  assert.ok(changed.some(({ path }) => path === "secrets.etcd_s3.secret_key"));
  const text = textAt(world, HISTORY_FILE);
  assert.ok(!text.includes("sealed") && !text.includes('secret-key"'), text);
  await world.stop();
});

Deno.test("history: no entry holds a secret", async () => {
  const world = await createSettledWorld();
  const s3 = { endpoint: "s3.test", bucket: "snapshots", region: "lab-1", folder: "f" };
  const keys = { access_key: { plain: "ACCESSKEY" }, secret_key: { plain: "hunter2-hunter2" } };
  world.portal.desire({ secrets: { etcd_s3: { ...TARGET, ...keys } } });
  world.portal.offer({ id: "op-1", kind: "s3.verify", params: { ...s3, ...keys } });
  await world.pass(90_000);
  const wrong = { ...s3, note: "password=hunter2-hunter2", deep: { token: "hunter2-hunter2" } };
  world.portal.offer({ id: "op-2", kind: "s3.verify", params: wrong });
  world.portal.offer({
    id: "op-3",
    kind: "diag.collect",
    params: {
      consent: { by: "password=hunter2-hunter2", at: "2026-01-01T00:00:00Z" },
    },
  });
  await world.pass(180_000);
  const entries = await entriesOf(world);
  assert.deepEqual(of(entries, "operation_begun").map(({ id }) => id), ["op-1", "op-3"]);
  assert.equal(of(entries, "operation_not_begun")[0]?.["code"], "invalid_params");
  const shown = String(of(entries, "operation_begun")[0]?.["params"]);
  const params = { ...s3, access_key: { sealed: true }, secret_key: { sealed: true } };
  assert.deepEqual(JSON.parse(shown), params);
  const text = textAt(world, HISTORY_FILE);
  assert.ok(!text.includes("hunter2") && !text.includes("ACCESSKEY"), text);
  // Neither do sealed boxes: a key that is found later must not open what an old file holds.
  assert.ok(!/[A-Za-z0-9+/]{100,}/.test(text), text);
  await world.stop();
});

Deno.test("history: an idle agent writes nothing, and a restart repeats no entry", async () => {
  const world = await settled();
  world.portal.offer({ ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] });
  await world.pass(90_000);
  const before = textAt(world, HISTORY_FILE);
  const writes: string[] = [];
  world.disk.onCall((name, path) => {
    if (name === "append" || name === "write") writes.push(`${name} ${path}`);
    return null;
  });
  await world.pass(600_000);
  assert.deepEqual(writes, []);
  await world.stop();
  world.start();
  await world.pass(90_000);
  assert.equal(textAt(world, HISTORY_FILE), before);
  await world.stop();
});

Deno.test("history: what root changes in config.yaml is noted at the next start", async () => {
  const world = await settled();
  await world.stop();
  const config = textAt(world, CONFIG_FILE);
  world.disk.put(CONFIG_FILE, config.replace(JSON.stringify(KEYS), JSON.stringify([KEYS[1]])));
  world.start();
  await world.pass(60_000);
  const changed = of(await entriesOf(world), "trust_changed");
  assert.equal(changed.length, 2);
  assert.deepEqual(changed[1]?.by, { who: "root" });
  const [keys] = changed[1]?.["changed"] as { path: string; from: string[]; to: string[] }[];
  assert.equal(keys?.path, "approval_keys");
  assert.deepEqual([keys?.from.length, keys?.to.length], [2, 1]);
  assert.match(keys?.to[0] ?? "", /^owner-1 SHA256:/);
  await world.stop();
});

Deno.test("history: a kill or a power cut at any call loses no entry and repeats none", async () => {
  const plain = await createSettledWorld();
  let count = 0;
  plain.disk.onCall(() => {
    count += 1;
    return null;
  });
  plain.portal.offer(REVOKE);
  await plain.pass(90_000);
  await plain.stop();
  assert.ok(count > 20, String(count));
  for (let at = 1; at <= count; at += 7) {
    const power = at % 2 === 0 ? undefined : "lost";
    const world = await createSettledWorld();
    world.portal.offer(REVOKE);
    let left = at;
    world.disk.onCall(() => {
      left -= 1;
      if (left === 0) world.kill(power);
      return null;
    });
    await world.pass(90_000);
    world.disk.onCall(() => null);
    if (left > 0) world.kill(power);
    world.start();
    await world.pass(200_000);
    const known = await readHistory(world.disk);
    assert.ok(known.ok);
    const operation = known.value.entries.filter(({ what }) => what.startsWith("operation_"));
    assert.deepEqual(whats(operation), ["operation_begun", "operation_ended"], `${power} ${at}`);
    await world.stop();
  }
});

Deno.test("history: a disk that takes no line holds up nothing, and says so once", async () => {
  const world = await createSettledWorld();
  world.disk.onCall((name, path) => name === "append" && path === HISTORY_FILE ? "io" : null);
  const queued = world.portal.offer(REVOKE);
  await world.pass(300_000);
  assert.equal(queued.result?.state, "succeeded");
  assert.equal(
    world.log.records().filter(({ event }) => event === "history_not_written").length,
    1,
  );
  world.disk.onCall(() => null);
  await world.pass(60_000);
  const entries = await entriesOf(world);
  assert.deepEqual(whats(entries).slice(-2), ["operation_begun", "operation_ended"]);
  await world.stop();
});

Deno.test("history: an unsupported operation was not begun; one that is offered again is one entry", async () => {
  const world = await createSettledWorld();
  const offer = { id: "op-1", kind: "no.such", params: {} };
  const queued = world.portal.offer(offer) as { again: boolean };
  await world.pass(60_000);
  queued.again = true;
  await world.pass(120_000);
  const [only, ...others] = of(await entriesOf(world), "operation_not_begun");
  assert.deepEqual([only?.["state"], others.length], ["unsupported", 0]);
  await world.stop();
});

Deno.test("history: a revoked identity and its return are the portal's orders, one entry each", async () => {
  const world = await createSettledWorld();
  world.portal.fault({
    match: { path: "/sync" },
    count: null,
    action: { status: 401, body: { error: { code: "revoked", message: "m" } } },
  });
  await world.pass(3 * 4_300_000);
  assert.deepEqual(whats(await entriesOf(world)).slice(2), ["revoked"]);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(4_300_000);
  assert.deepEqual(whats(await entriesOf(world)).slice(2), ["revoked", "accepted_again"]);
  await world.stop();
});

Deno.test("history: it begins where an agent of before kept none, and after a lost state", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const { history: _history, ...before } = world.stored();
  world.disk.put(STATE_FILE, JSON.stringify(before));
  await world.disk.remove(HISTORY_FILE);
  world.start();
  await world.pass(60_000);
  assert.deepEqual(whats(await entriesOf(world)), ["history_begun"]);
  await world.stop();
});
