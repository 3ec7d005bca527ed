import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { ApprovalSubject } from "../../../core/protocol/approval.ts";
import { Secret } from "../../../core/secret.ts";
import { IDENTITY_FILE, SNAPSHOTS_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { approve, inDays, SEEDS, settled, subjectOf, TARGET } from "./owner.ts";
import { createWorld, type World } from "./world.ts";

const CONDITIONS = ["approval_missing", "approval_invalid"];
const said = (world: World) => world.conditions().filter((code) => CONDITIONS.includes(code));
const REVOKE = { id: "op-1", kind: "access.revoke", params: { everyone: true } };

Deno.test("approvals: an operation waits for its approval, and is begun once it has one", async () => {
  const world = await settled();
  const queued = world.portal.offer(REVOKE) as { offer: JsonValue; result: unknown };
  await world.pass(60_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  assert.equal(world.stored().operation, null);
  assert.equal(queued.result, null);
  queued.offer = { ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] };
  await world.pass(90_000);
  assert.equal((queued.result as { state: string } | null)?.state, "succeeded");
  assert.deepEqual(said(world), []);
  const used = Object.values(world.stored(IDENTITY_FILE).used_approvals) as JsonObject[];
  assert.deepEqual(used.map(({ use, for: id, done }) => [use, id, done]), [
    ["operation", "op-1", true],
  ]);
  await world.stop();
});

Deno.test("approvals: each fault of an approval leaves the operation where it is, and says why", async () => {
  const world = await settled();
  const subject = subjectOf(REVOKE);
  const stranger = new Secret(new Uint8Array(32).fill(9));
  const faults: [string, JsonObject, RegExp][] = [
    ["other key", approve(world, subject, { seed: stranger }), /is not one of approval_keys/],
    ["other node", approve(world, subject, { node: "demo-2" }), /is for node/],
    ["any node", approve(world, subject, { node: "*" }), /is for node/],
    ["expired", approve(world, subject, { expires: inDays(world, -1) }), /expired/],
    ["far ahead", approve(world, subject, { expires: inDays(world, 9) }), /7 days/],
    ["namespace", approve(world, subject, { namespace: "file" }), /namespace/],
    ["text", approve(world, subjectOf({ ...REVOKE, id: "op-2" })), /signed another text/],
  ];
  const queued = world.portal.offer(REVOKE) as { offer: JsonValue; result: unknown };
  for (const [name, approval, why] of faults) {
    queued.offer = { ...REVOKE, approvals: [approval] };
    await world.pass(60_000);
    assert.deepEqual(said(world), ["approval_invalid"], name);
    const message = world.lastReport().conditions.find(({ code }) => code === "approval_invalid");
    assert.match(message?.message ?? "", why, name);
    assert.equal(world.stored().operation, null, name);
  }
  queued.offer = { ...REVOKE, id: "op-9", params: { person: "ada" } };
  await world.pass(60_000);
  assert.deepEqual(said(world), []);
  await world.stop();
});

Deno.test("approvals: malformed ones are a wrong parameter, and two keys must be two", async () => {
  const world = await settled(`s3_target: ${JSON.stringify(TARGET)}\napprovals: 2\n`);
  const malformed = world.portal.offer({ ...REVOKE, id: "op-0", approvals: [{ node: 1 }] });
  await world.pass(60_000);
  assert.equal(malformed.result?.code, "invalid_params");
  const many = world.portal.offer({
    ...REVOKE,
    id: "op-00",
    approvals: Array(13).fill(approve(world, subjectOf(REVOKE))),
  });
  await world.pass(60_000);
  assert.equal(many.result?.code, "invalid_params");
  const one = approve(world, subjectOf(REVOKE));
  const queued = world.portal.offer({ ...REVOKE, approvals: [one, one] }) as {
    offer: JsonValue;
    result: unknown;
  };
  await world.pass(60_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  const other = approve(world, subjectOf(REVOKE), { seed: SEEDS[1] as Secret<Uint8Array> });
  queued.offer = { ...REVOKE, approvals: [one, other] };
  await world.pass(60_000);
  assert.equal((queued.result as { state: string } | null)?.state, "succeeded");
  await world.stop();
});

Deno.test("approvals: one that was used does not work once more after state.json is lost", async () => {
  const world = await settled();
  const offer = { ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] };
  const queued = world.portal.offer(offer) as { result: unknown; again: boolean };
  await world.pass(90_000);
  assert.notEqual(queued.result, null);
  await world.stop();
  world.disk.put(STATE_FILE, "");
  world.start();
  queued.again = true;
  await world.pass(120_000);
  assert.deepEqual(said(world), ["approval_invalid"]);
  await world.stop();
});

Deno.test("approvals: one that was used is not forgotten because every clock shows a later month for a while", async () => {
  const world = await settled();
  const offer = { ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] };
  const queued = world.portal.offer(offer) as { result: unknown; again: boolean };
  await world.pass(90_000);
  assert.notEqual(queued.result, null);
  // The node's clock and the portal's follow the same wrong server.
  const month = 40 * 86_400_000;
  world.clock.setWallClock(world.clock.now() + month);
  await world.pass(90_000);
  const other = { ...REVOKE, id: "op-2" };
  world.portal.offer({ ...other, approvals: [approve(world, subjectOf(other))] });
  await world.pass(90_000);
  assert.equal(Object.keys(world.stored(IDENTITY_FILE).used_approvals).length, 2);
  world.clock.setWallClock(world.clock.now() - month);
  await world.stop();
  world.disk.put(STATE_FILE, "");
  world.start();
  queued.again = true;
  await world.pass(200_000);
  assert.deepEqual(said(world), ["approval_invalid"]);
  await world.stop();
});

Deno.test("approvals: a crash between the use and the begin does not use one up", async () => {
  const world = await settled();
  const offer = { ...REVOKE, approvals: [approve(world, subjectOf(REVOKE))] };
  const queued = world.portal.offer(offer);
  world.disk.onCall((name, path) =>
    name === "write" && path.startsWith(STATE_FILE) ? "full" : null
  );
  await world.pass(60_000);
  assert.equal(Object.keys(world.stored(IDENTITY_FILE).used_approvals).length, 1);
  assert.equal(world.stored().operation, null);
  world.kill();
  world.disk.onCall(() => null);
  world.start();
  await world.pass(120_000);
  assert.equal(queued.result?.state, "succeeded");
  await world.stop();
});

Deno.test("approvals: a portal whose clock is set back brings no expired one to life", async () => {
  const world = await settled();
  const approval = approve(world, subjectOf(REVOKE), { expires: inDays(world, 1 / 1440) });
  await world.pass(90_000);
  world.portal.portal.state.clockOffsetMs = -86_400_000;
  const queued = world.portal.offer({ ...REVOKE, approvals: [approval] });
  await world.pass(300_000);
  assert.ok(said(world).includes("approval_invalid"));
  assert.equal(queued.result, null);
  await world.stop();
});

Deno.test("approvals: an approval is the consent to diagnostics", async () => {
  const world = await settled();
  const offer = { id: "op-1", kind: "diag.collect", params: {} };
  const approvals = [approve(world, subjectOf(offer), { node: "*" })];
  const queued = world.portal.offer({ ...offer, approvals });
  await world.pass(90_000);
  assert.equal(queued.result?.state, "succeeded", JSON.stringify(queued.result));
  await world.stop();
});

Deno.test("approvals: a restore from a bucket names its snapshot, and its approval the bucket", async () => {
  const world = await settled();
  const params = { snapshot: "nightly-1", from: "s3" };
  const nameless = world.portal.offer({ id: "op-1", kind: "cluster.restore", params });
  await world.pass(60_000);
  assert.equal(nameless.result?.code, "invalid_params");
  assert.match(nameless.result?.message ?? "", /sha256/);
  const whole = { ...params, sha256: "0".repeat(64) };
  world.portal.offer({ id: "op-2", kind: "cluster.restore", params: whole });
  await world.pass(60_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  await world.stop();
});

Deno.test("approvals: a restore of a snapshot that the node took needs no SHA-256 from the portal", async () => {
  const world = await settled();
  const known = { size: 1, sha256: "0".repeat(64), modified_ms: 1, noted_ms: 2 };
  const name = "nightly-demo-1-1767268800";
  const document = { format: 1, snapshots: [{ name, ...known }] };
  world.disk.put(SNAPSHOTS_FILE, JSON.stringify(document), 0o600);
  const offer = (id: string, snapshot: string) =>
    world.portal.offer({ id, kind: "cluster.restore", params: { snapshot, from: "s3" } });
  const stranger = offer("op-1", `${name}.zip`);
  await world.pass(60_000);
  assert.equal(stranger.result?.code, "invalid_params");
  offer("op-2", name);
  await world.pass(60_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  await world.stop();
});

Deno.test("approvals: without the owner's keys nothing needs one", async () => {
  const world = createWorld();
  world.start();
  await world.pass(90_000);
  const queued = world.portal.offer(REVOKE);
  await world.pass(60_000);
  assert.equal(queued.result?.state, "succeeded");
  assert.equal(world.stored(IDENTITY_FILE).used_approvals, undefined);
  await world.stop();
});

const S3 = {
  ...TARGET,
  access_key: { plain: "ACCESSKEY" },
  secret_key: { plain: "secret-key" },
};
const FULL = { ...TARGET, endpoint_ca: null, bucket_lookup: "auto" };
const change = (what: string, from: JsonValue, to: JsonValue): ApprovalSubject => ({
  kind: "change",
  what,
  from,
  to,
});
const stateOf = (world: World) => world.stored().desired.state;

Deno.test("approvals: the bucket may not move without one, nor go; an approval of it works once", async () => {
  const world = await settled();
  world.portal.desire({ secrets: { etcd_s3: S3 } });
  await world.pass(80_000);
  assert.deepEqual(said(world), []);
  assert.equal(stateOf(world).secrets.etcd_s3.bucket, "pbx-snapshots");
  const before = stateOf(world).revision;

  const elsewhere = { ...FULL, bucket: "elsewhere" };
  world.portal.desire({ secrets: { etcd_s3: { ...S3, bucket: "elsewhere" } } });
  await world.pass(80_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  assert.equal(stateOf(world).revision, before);
  const there = approve(world, change("s3_target", FULL, elsewhere));
  world.portal.desire({ approvals: [there] });
  await world.pass(80_000);
  assert.deepEqual(said(world), []);
  assert.equal(stateOf(world).secrets.etcd_s3.bucket, "elsewhere");
  assert.equal(stateOf(world).approvals, undefined);

  world.portal.desire({
    secrets: { etcd_s3: S3 },
    approvals: [approve(world, change("s3_target", elsewhere, FULL))],
  });
  await world.pass(80_000);
  assert.equal(stateOf(world).secrets.etcd_s3.bucket, "pbx-snapshots");
  world.portal.desire({ secrets: { etcd_s3: { ...S3, bucket: "elsewhere" } }, approvals: [there] });
  await world.pass(80_000);
  assert.deepEqual(said(world), ["approval_invalid"]);

  world.portal.desire({ secrets: { etcd_s3: null }, approvals: null });
  await world.pass(80_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  world.portal.desire({ approvals: [approve(world, change("s3_target", FULL, null))] });
  await world.pass(80_000);
  assert.equal(stateOf(world).secrets.etcd_s3, undefined);
  assert.equal(world.stored(IDENTITY_FILE).s3_target, null);
  // It was removed, so what config.yaml names is not the first one any more.
  world.portal.desire({ secrets: { etcd_s3: S3 }, approvals: null });
  await world.pass(80_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  await world.stop();
});

Deno.test("approvals: after the loss of state.json the bucket is still compared with the last accepted", async () => {
  const world = await settled();
  world.portal.desire({ secrets: { etcd_s3: S3 } });
  await world.pass(80_000);
  await world.stop();
  world.disk.put(STATE_FILE, "");
  world.portal.desire({ secrets: { etcd_s3: { ...S3, folder: "other" } } });
  world.start();
  await world.pass(120_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  assert.equal(world.stored().desired, null);
  await world.stop();
});

Deno.test("approvals: fewer snapshots need one, more do not", async () => {
  const world = await settled();
  const first = stateOf(world).host;
  const want = async (snapshots: JsonObject, approvals: JsonValue = null) => {
    world.portal.desire({ host: { ...first, snapshots }, approvals });
    await world.pass(80_000);
  };
  const many = { ...first.snapshots, schedule: "0 * * * *", retention: 50 };
  await want(many);
  assert.deepEqual(said(world), []);
  for (const less of [{ ...many, retention: 49 }, { ...many, schedule: "0 0 * * *" }]) {
    await want(less);
    assert.deepEqual(said(world), ["approval_missing"]);
    assert.deepEqual(stateOf(world).host.snapshots, many);
  }
  const less = { ...many, retention: 49 };
  await want(less, [approve(world, change("fewer_snapshots", many, less))]);
  assert.deepEqual(stateOf(world).host.snapshots, less);
  await world.stop();
});

Deno.test("approvals: an older release comes in with one, and stays without another", async () => {
  const world = await settled();
  const { releases } = world.portal.portal.state;
  const first = releases.get("1.0.0");
  assert.ok(first !== undefined);
  const older = { ...first.payload as JsonObject, version: "0.6.0" };
  const newer = { ...first.payload as JsonObject, version: "1.1.0", sequence: 7 };
  releases.set("0.6.0", { ...first, payload: older });
  releases.set("1.1.0", { ...first, payload: newer });
  world.portal.desire({ release: "1.1.0" });
  await world.pass(150_000);
  assert.equal(world.stored(IDENTITY_FILE).releases.newest.version, "1.1.0");
  world.portal.desire({ release: "0.6.0" });
  await world.pass(80_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  const from = { sequence: 7, version: "1.1.0" };
  const to = { sequence: 0, version: "0.6.0" };
  world.portal.desire({ approvals: [approve(world, change("older_release", from, to))] });
  await world.pass(80_000);
  assert.equal(stateOf(world).release, "0.6.0");
  world.portal.desire({ host: { ingress: "none" }, approvals: null });
  await world.pass(80_000);
  assert.equal(stateOf(world).host.ingress, "none");
  assert.deepEqual(said(world), []);
  await world.stop();
});

Deno.test("approvals: the bucket of the enrollment is not written before it is pinned or approved", async () => {
  for (const [more, isThere] of [["", false], [undefined, true]] as const) {
    const world = await settled(more);
    assert.equal(world.stored().first_start, "done");
    const secret = await world.k8s.get({
      apiVersion: "v1",
      resource: "secrets",
      namespace: "kube-system",
      name: "pbx-etcd-s3",
    });
    assert.equal(secret.ok && secret.value !== null, isThere);
    assert.deepEqual(said(world), isThere ? [] : ["approval_missing"]);
    await world.stop();
  }
});
