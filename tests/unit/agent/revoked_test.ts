import assert from "node:assert/strict";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { signedBytes, signingPublicKey, verify } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, type World } from "./world.ts";

const MINUTE_MS = 60_000;
/** No revoked agent asks again this soon after its last request. */
const QUIET_MS = 49 * MINUTE_MS;
/** Every revoked agent has asked again this long after its last request. */
const ASKED_MS = 71 * MINUTE_MS;
const DROP_IN = "/etc/rancher/k3s/config.yaml.d/50-pbx-ingress.yaml";

function revoke(world: World, revoked: boolean): void {
  for (const agent of world.portal.portal.state.agents.values()) agent.revoked = revoked;
}

async function createRevokedWorld(): Promise<World> {
  const world = await createSettledWorld();
  revoke(world, true);
  await world.pass(40_000);
  return world;
}

async function assertIdle(world: World): Promise<void> {
  const [requests, writes] = [world.portal.asked().length, world.k8s.writes()];
  world.disk.put(DROP_IN, "by hand: true\n");
  const state = world.disk.text(STATE_FILE);
  await world.pass(QUIET_MS - MINUTE_MS);
  assert.equal(world.disk.text(STATE_FILE), state);
  assert.equal(world.portal.asked().length, requests);
  assert.equal(world.k8s.writes(), writes);
  assert.equal(world.disk.text(DROP_IN), "by hand: true\n");
  assert.equal((await world.status()).stage, "revoked");
}

Deno.test("revoked: 401 once, and the agent leaves portal and cluster alone", async () => {
  const world = await createRevokedWorld();
  assert.equal(world.portal.asked().at(-1), "POST /sync 401");
  assert.equal(world.stored().revoked, true);
  assert.equal(world.stored().stage, "revoked");
  assert.equal((await world.status()).trouble?.code, "revoked");
  await assertIdle(world);
  await world.stop();
});

Deno.test("revoked: asks once an hour, give or take ten minutes, and writes nothing for it", async () => {
  const world = await createRevokedWorld();
  const [asked, writes] = [world.requests("/sync"), world.k8s.writes()];
  const state = world.disk.text(STATE_FILE);
  for (let hour = 1; hour <= 8; hour++) {
    const before = world.requests("/sync");
    await world.pass(QUIET_MS);
    assert.ok(world.requests("/sync") - before <= 1);
    await world.pass(70 * MINUTE_MS - QUIET_MS);
    assert.ok(world.requests("/sync") - before <= 2);
  }
  const hourly = world.requests("/sync") - asked;
  assert.ok(hourly >= 8 && hourly <= 11, `${hourly} requests in 9 h 20 min`);
  assert.equal(world.k8s.writes(), writes);
  assert.equal(world.disk.text(STATE_FILE), state);
  await world.stop();
});

Deno.test("revoked: a 200 within the hour takes it back without a restart", async () => {
  const world = await createRevokedWorld();
  revoke(world, false);
  await world.pass(ASKED_MS + MINUTE_MS);
  const status = await world.status();
  assert.deepEqual([status.stage, status.trouble], ["syncing", null]);
  assert.equal(world.stored().revoked, false);
  await world.stop();
});

Deno.test("revoked: clock_skew is signed again once, with the portal's time", async () => {
  const world = await createRevokedWorld();
  await world.stop();
  revoke(world, false);
  world.portal.portal.state.clockOffsetMs = 7_200_000;
  const before = world.requests("/sync");
  world.start();
  await world.pass(1_000);
  const asked = world.portal.asked().filter((one) => one.startsWith("POST /sync")).slice(before);
  assert.deepEqual(asked.slice(0, 2).map((one) => one.slice(-3)), ["409", "200"]);
  assert.equal(world.stored().revoked, false);
  await world.stop();
});

Deno.test("revoked: while keys are rotated, the two pairs take turns", async () => {
  const world = await createSettledWorld();
  world.portal.fault({ match: { path: "/rotate-key" }, count: null, action: { status: 503 } });
  world.portal.offer({ id: "op-1", kind: "agent.rotate_key", params: {} });
  while (world.requests("/rotate-key") < 1) await world.pass(1_000);
  world.portal.portal.memory.faults.length = 0;
  world.portal.fault({
    match: {},
    count: null,
    action: { status: 401, body: { error: { code: "revoked", message: "m" } } },
  });
  await world.pass(40_000);
  const keys = world.stored("/var/lib/pbx-agent/identity.json");
  const pairs = [keys.keys, keys.next].map(({ signing }) =>
    signingPublicKey(new Secret(decodeBase64(signing) ?? new Uint8Array()))
  );
  const first = world.requests("/sync");
  await world.pass(5 * ASKED_MS);
  const by = world.syncs().slice(first).map(({ path, timestamp, body, signature }) => {
    const bytes = signedBytes({ method: "POST", path, timestamp: Number(timestamp), body });
    return pairs.findIndex((key) => verify(key, decodeBase64(signature) ?? body, bytes));
  });
  assert.ok(by.length >= 4, String(by.length));
  for (const [at, pair] of by.entries()) assert.equal(pair, ((by[0] ?? 0) + at) % 2);
  await world.stop();
});

Deno.test("revoked: exactly one request after each start, whatever comes back but 200", async () => {
  const world = await createRevokedWorld();
  const answers: unknown[] = [
    { status: 401 },
    { status: 403, text: "<html>" },
    { status: 503 },
    { cut: "before" },
    { malformed: true },
    { status: 400, body: { error: { code: "replayed", message: "m" } } },
    { status: 200, body: { time: "now" } },
  ];
  for (const action of answers) {
    await world.stop();
    world.portal.portal.memory.faults.length = 0;
    world.portal.fault({ match: {}, count: null, action });
    const before = world.requests("/sync");
    world.start();
    await world.pass(60_000);
    assert.equal(world.requests("/sync"), before + 1, JSON.stringify(action));
    await assertIdle(world);
  }
  await world.stop();
});

Deno.test("revoked: a 200 to the one request takes it back", async () => {
  const world = await createRevokedWorld();
  await world.stop();
  revoke(world, false);
  world.start();
  await world.pass(70_000);
  const status = await world.status();
  assert.deepEqual([status.stage, status.trouble], ["syncing", null]);
  assert.equal(world.stored().revoked, false);
  assert.deepEqual(world.conditions(), []);
  // Back for good: over a restart too.
  await world.stop();
  world.start();
  await world.pass(70_000);
  assert.equal((await world.status()).stage, "syncing");
  await world.stop();
});

Deno.test("revoked: a running Retry-After is waited out before the one request", async () => {
  const world = await createSettledWorld();
  world.portal.fault({
    match: { path: "/sync" },
    action: { status: 429, headers: { "Retry-After": "1800" } },
  });
  await world.pass(40_000);
  await world.stop();
  world.disk.put(
    "/var/lib/pbx-agent/state.json",
    JSON.stringify({ ...world.stored(), revoked: true }),
  );
  const before = world.requests("/sync");
  world.start();
  await world.pass(1_700_000);
  assert.equal(world.requests("/sync"), before);
  await world.pass(100_000);
  assert.ok(world.requests("/sync") > before);
  await world.stop();
});

Deno.test("revoked: 401 for a manifest or for events says the same", async () => {
  const manifest = await createSettledWorld();
  manifest.portal.fault({ match: { path: "/releases/*" }, action: { status: 401 } });
  manifest.portal.desire({ release: "1.0.1" });
  await manifest.pass(40_000);
  await assertIdle(manifest);
  await manifest.stop();

  const events = await createSettledWorld();
  events.portal.fault({ match: { path: "/operations/*" }, action: { status: 401 } });
  events.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  await events.pass(40_000);
  assert.equal((await events.status()).trouble?.code, "revoked");
  await assertIdle(events);
  await events.stop();
});

Deno.test("revoked: a 200 that a 401 for the manifest follows is no way back", async () => {
  const world = await createRevokedWorld();
  await world.stop();
  revoke(world, false);
  world.portal.desire({ release: "1.0.1" });
  world.portal.fault({ match: { path: "/releases/*" }, action: { status: 401 } });
  world.start();
  await world.pass(60_000);
  assert.equal(world.stored().revoked, true);
  await assertIdle(world);
  await world.stop();
});

Deno.test("revoked: an operation that runs goes no further, and goes on once the identity counts again", async () => {
  const world = await createSettledWorld();
  world.portal.fault({ match: { path: "/rotate-key" }, count: null, action: { status: 503 } });
  world.portal.offer({ id: "op-1", kind: "agent.rotate_key", params: {} });
  while (world.requests("/rotate-key") < 2) await world.pass(1_000);
  revoke(world, true);
  await world.pass(40_000);
  await assertIdle(world);
  assert.equal(world.stored().operation?.step, "register");
  await world.stop();

  revoke(world, false);
  world.portal.portal.memory.faults.length = 0;
  world.start();
  await world.pass(120_000);
  assert.equal(world.stored().finished["op-1"]?.result.state, "succeeded");
  await world.stop();
});
