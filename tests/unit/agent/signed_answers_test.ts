import assert from "node:assert/strict";
import { PROOF_FAULTS } from "../../../adapters/portal/faults.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { seal } from "../../../core/protocol/sealing.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const KEYS = { hasPortalKeys: true };
const IDENTITY_FILE = "/var/lib/pbx-agent/identity.json";

function conditionsNow(world: World): string[] {
  return world.stored().conditions.map(({ code }: { code: string }) => code).sort();
}

/** What no unproven answer may change: all of the state but what says that there is trouble. */
function unaffected(world: World): unknown {
  const { channels: _channels, trouble: _trouble, conditions: _conditions, ...rest } = world
    .stored();
  return rest;
}

function interfere(world: World, action: Record<string, unknown>, path = "/sync"): void {
  world.portal.fault({ match: { path }, count: null, action });
}

Deno.test("signed answers: an agent with portal_keys lives with a portal that signs", async () => {
  const world = await createSettledWorld(KEYS);
  world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  world.portal.offer({ id: "op-2", kind: "agent.rotate_key", params: {} });
  await world.pass(180_000);
  assert.deepEqual(conditionsNow(world), []);
  assert.equal(world.stored().finished["op-2"]?.result.state, "succeeded");
  assert.equal((await world.status()).trouble, null);
  await world.stop();
});

for (const proof of PROOF_FAULTS) {
  Deno.test(`signed answers: a sync's answer that is ${proof} is used for nothing`, async () => {
    const world = await createSettledWorld(KEYS);
    const before = unaffected(world);
    world.portal.desire({ servers: 3 });
    world.portal.offer({ id: "op-1", kind: "snapshot.save", params: {} });
    interfere(world, { proof });
    await world.pass(100_000);
    assert.deepEqual(conditionsNow(world), ["answer_unproven"]);
    assert.deepEqual(unaffected(world), before);
    assert.equal((await world.status()).trouble?.code, "answer_unproven");
    assert.ok(world.stored().channels.sync.failures >= 3);
    world.portal.portal.memory.faults.length = 0;
    await world.pass(400_000);
    assert.deepEqual(conditionsNow(world), []);
    assert.equal(world.lastReport().desired.revision, 2);
    await world.stop();
  });
}

const REFUSALS: readonly Record<string, unknown>[] = [
  { status: 400 },
  { status: 401, body: { error: { code: "revoked", message: "m" } } },
  { status: 404 },
  {
    status: 409,
    body: { error: { code: "clock_skew", message: "m", time: "2031-01-01T00:00:00Z" } },
  },
  { status: 400, body: { error: { code: "replayed", message: "m" } } },
  {
    status: 426,
    body: { error: { code: "protocol_too_old", message: "m", release: "1.0.1" } },
  },
  { status: 302, headers: { location: "https://elsewhere.example" } },
  { status: 200, body: { time: "2031-01-01T00:00:00Z", desired: null, desired_tag: null } },
];
for (const action of REFUSALS) {
  Deno.test(`signed answers: an unproven ${JSON.stringify(action).slice(0, 60)} is trouble`, async () => {
    const world = await createSettledWorld(KEYS);
    const before = unaffected(world);
    interfere(world, { ...action, proof: "unsigned" });
    const asked = world.requests("/sync");
    await world.pass(120_000);
    assert.deepEqual(conditionsNow(world), ["answer_unproven"]);
    assert.deepEqual(unaffected(world), before);
    assert.equal(world.portal.asked().filter((one) => one.includes("1.0.1")).length, 0);
    // One request for each step of the backoff: nothing is signed again at once.
    assert.ok(world.requests("/sync") - asked <= 6);
    await world.stop();
  });
}

Deno.test("signed answers: an unproven 429 is honoured, for 300 s at most", async () => {
  for (const [seconds, waited] of [[60, 60_000], [3_600, 300_000]] as const) {
    const world = await createSettledWorld(KEYS);
    world.portal.fault({
      match: { path: "/sync" },
      action: { status: 429, headers: { "retry-after": String(seconds) }, proof: "unsigned" },
    });
    const asked = world.requests("/sync");
    while (world.requests("/sync") === asked) await world.pass(500);
    assert.deepEqual(conditionsNow(world), ["answer_unproven"]);
    await world.pass(waited - 2_000);
    assert.equal(world.requests("/sync"), asked + 1);
    await world.pass(40_000);
    assert.ok(world.requests("/sync") > asked + 1);
    await world.stop();
  }
  const proven = await createSettledWorld(KEYS);
  proven.portal.fault({
    match: { path: "/sync" },
    action: { status: 429, headers: { "retry-after": "900" } },
  });
  const asked = proven.requests("/sync");
  await proven.pass(840_000);
  assert.equal(proven.requests("/sync"), asked + 1);
  assert.deepEqual(conditionsNow(proven), []);
  await proven.stop();
});

Deno.test("signed answers: a 5xx needs no proof", async () => {
  const world = await createSettledWorld(KEYS);
  interfere(world, { status: 503, proof: "unsigned" });
  await world.pass(60_000);
  assert.deepEqual(conditionsNow(world), []);
  assert.equal((await world.status()).trouble?.code, "http_503");
  await world.stop();
});

Deno.test("signed answers: a proven 401 counts, a proven page of a proxy does not exist", async () => {
  const world = await createSettledWorld(KEYS);
  interfere(world, { status: 401, text: "<html>", proof: "unsigned" });
  await world.pass(40_000);
  assert.deepEqual(conditionsNow(world), ["answer_unproven", "not_the_portal"]);
  world.portal.portal.memory.faults.length = 0;
  for (const agent of world.portal.portal.state.agents.values()) agent.revoked = true;
  await world.pass(100_000);
  assert.equal(world.stored().revoked, true);
  assert.deepEqual(conditionsNow(world), []);
  // An unproven 200 does not lift it.
  for (const agent of world.portal.portal.state.agents.values()) agent.revoked = false;
  interfere(world, { proof: "unsigned" });
  await world.pass(71 * 60_000);
  assert.equal(world.stored().revoked, true);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(71 * 60_000);
  assert.equal(world.stored().revoked, false);
  await world.stop();
});

Deno.test("signed answers: the condition is one over all channels, and goes with the last of them", async () => {
  const world = await createSettledWorld(KEYS);
  interfere(world, { proof: "unsigned" }, "/operations/*");
  interfere(world, { proof: "unsigned" }, "/releases/*");
  world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  world.portal.desire({ release: "1.0.1" });
  await world.pass(100_000);
  const unproven = world.stored().conditions.find(({ code }: { code: string }) =>
    code === "answer_unproven"
  );
  assert.match(unproven?.message ?? "", /events, manifests/);
  // Syncs are proven all the while.
  assert.equal((await world.status()).trouble, null);
  world.portal.portal.memory.faults.length = 0;
  interfere(world, { proof: "unsigned" }, "/releases/*");
  await world.pass(100_000);
  assert.ok(conditionsNow(world).includes("answer_unproven"));
  world.portal.portal.memory.faults.length = 0;
  await world.pass(400_000);
  assert.ok(!conditionsNow(world).includes("answer_unproven"));
  await world.stop();
});

Deno.test("signed answers: a condition of before a restart goes with the first proven answer", async () => {
  const world = await createSettledWorld(KEYS);
  interfere(world, { proof: "unsigned" });
  await world.pass(40_000);
  await world.stop();
  world.portal.portal.memory.faults.length = 0;
  world.start();
  await world.pass(60_000);
  assert.deepEqual(conditionsNow(world), []);
  await world.stop();
});

Deno.test("signed answers: at the enrollment no unproven answer is stored or counted", async () => {
  const actions = [
    ...PROOF_FAULTS.filter((proof) => proof !== "replayed").map((proof) => ({ proof })),
    { status: 401, body: { error: { code: "invalid_token", message: "m" } }, proof: "unsigned" },
    { status: 409, body: { error: { code: "image_mismatch", message: "m" } }, proof: "unsigned" },
    { status: 426, proof: "unsigned" },
    { status: 400, proof: "unsigned" },
  ];
  for (const action of actions) {
    const world = createWorld(KEYS);
    world.portal.fault({ match: { path: "/enroll" }, count: 6, action });
    world.start();
    await world.pass(30_000);
    const status = await world.status();
    assert.deepEqual([status.stage, status.trouble?.code], ["enrolling", "answer_unproven"]);
    assert.equal(world.stored("/var/lib/pbx-agent/bootstrap.json"), null);
    assert.equal(world.stored().enrollment, null);
    assert.equal(world.stored().clock_offset_ms, 0);
    await world.pass(900_000);
    assert.equal((await world.status()).stage, "syncing", JSON.stringify(action));
    await world.stop();
  }
});

Deno.test("signed answers: each enrollment has a new nonce and the digest of its body", async () => {
  const world = createWorld(KEYS);
  world.portal.fault({ match: { path: "/enroll" }, count: 3, action: { status: 503 } });
  world.start();
  await world.pass(120_000);
  const sent = world.sent("/enroll");
  assert.ok(sent.length >= 4);
  assert.equal(new Set(sent.map((headers) => headers["PBX-Nonce"])).size, sent.length);
  for (const headers of [...sent, ...world.sent("/sync")]) {
    assert.equal(headers["Accept-Encoding"], "identity");
  }
  assert.match(sent[0]?.["PBX-Nonce"] ?? "", /^[A-Za-z0-9+/]{22}==$/);
  await world.stop();

  const without = await createSettledWorld();
  for (const name of ["PBX-Nonce", "Content-Digest", "Accept-Encoding"]) {
    assert.equal(without.sent("/enroll")[0]?.[name], undefined);
  }
  await without.stop();
});

Deno.test("signed answers: sealing bound counts in a proven answer only, then for good", async () => {
  const proven = await createSettledWorld(KEYS);
  await proven.stop();
  proven.disk.put(
    IDENTITY_FILE,
    JSON.stringify({ ...proven.stored(IDENTITY_FILE), bound_boxes: undefined }),
  );
  proven.start();
  interfere(proven, { merge: { sealing: "bound" } });
  await proven.pass(60_000);
  assert.equal(proven.stored(IDENTITY_FILE).bound_boxes, true);
  await proven.stop();

  // It holds for the answer that says it: a box without a position is refused there already.
  const mixed = await createSettledWorld(KEYS);
  await mixed.stop();
  mixed.disk.put(
    IDENTITY_FILE,
    JSON.stringify({ ...mixed.stored(IDENTITY_FILE), bound_boxes: undefined }),
  );
  const [agent] = mixed.portal.portal.state.agents.values();
  const publicKey = decodeBase64(agent?.keys.sealing ?? "") ?? new Uint8Array();
  const sealed = seal(new TextEncoder().encode("t"), publicKey, new Uint8Array(32).fill(3));
  mixed.portal.desire({ secrets: { hcloud: { token: { sealed } } } });
  interfere(mixed, { merge: { sealing: "bound" } });
  mixed.start();
  await mixed.pass(60_000);
  assert.deepEqual(conditionsNow(mixed), ["misplaced_secret"]);
  assert.equal(mixed.lastReport().desired.revision, 1);
  mixed.portal.portal.memory.faults.length = 0;
  interfere(mixed, { merge: { sealing: null } });
  await mixed.pass(100_000);
  assert.equal(mixed.lastReport().desired.revision, 2);
  await mixed.stop();

  const unproven = await createSettledWorld();
  await unproven.stop();
  unproven.disk.put(
    IDENTITY_FILE,
    JSON.stringify({ ...unproven.stored(IDENTITY_FILE), bound_boxes: undefined }),
  );
  unproven.start();
  interfere(unproven, { merge: { sealing: "bound" } });
  await unproven.pass(60_000);
  assert.equal(unproven.stored(IDENTITY_FILE).bound_boxes, undefined);
  await unproven.stop();
});
