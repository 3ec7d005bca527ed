import assert from "node:assert/strict";
import {
  agentOf,
  assertRotated,
  assertSealedAnew,
  offerRotation,
  pairsIn,
  publicKeysOf,
} from "./rotated.ts";
import { createSettledWorld, type World } from "./world.ts";

/** Long enough for a rotation, its report and what a lost answer costs. */
const ROTATION_MS = 300_000;

Deno.test("agent.rotate_key: both sides end with the new pair, and everything stored is sealed to it", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const operation = offerRotation(world);
  await world.pass(120_000);
  assertRotated(world, operation, before);
  // Nothing of it is written anywhere.
  const { signing, sealing } = world.stored("/var/lib/pbx-agent/identity.json").keys;
  const told = JSON.stringify([operation, world.stored()]) + world.log.text();
  assert.ok(!told.includes(signing) && !told.includes(sealing));
  // And the next desired state, sealed to the new key, is taken.
  world.portal.desire({ servers: 1 });
  await world.pass(75_000);
  assert.equal(world.lastReport().desired.revision, 2);
  await world.stop();
});

Deno.test("agent.rotate_key: one rotation after the other", async () => {
  const world = await createSettledWorld();
  for (const id of ["rotate-1", "rotate-2", "rotate-3"]) {
    const before = publicKeysOf(world);
    agentOf(world).retired.length = 0;
    const operation = offerRotation(world, id);
    await world.pass(120_000);
    assertRotated(world, operation, before);
  }
  await world.stop();
});

/** Ways to spoil the answer to one request. */
const SPOILT: readonly Record<string, unknown>[] = [
  { cut: "before" },
  { cut: "after" },
  { status: 500, after: true },
  { status: 503 },
  { malformed: true, after: true },
  { status: 429, after: true, headers: { "retry-after": "20" } },
];

for (const action of SPOILT) {
  const what = JSON.stringify(action);
  Deno.test(`agent.rotate_key: ${what} for each request in turn, and it converges`, async () => {
    const whole = await rotate(() => {});
    assert.ok(whole >= 6, `${whole} requests`);
    for (let skip = 0; skip < whole; skip++) {
      await rotate(
        (world) => world.portal.fault({ match: {}, skip, action }),
        `request ${skip + 1}`,
      );
    }
  });
}

/** Rotates with a fault set, asserts the end, and gives the number of requests that it took. */
async function rotate(spoil: (world: World) => void, what = "undisturbed"): Promise<number> {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const asked = world.portal.asked().length;
  const operation = offerRotation(world);
  spoil(world);
  while (operation.result === null && world.clock.monotonic() < 900_000) await world.pass(5_000);
  const requests = world.portal.asked().length - asked;
  await world.pass(ROTATION_MS);
  try {
    assertRotated(world, operation, before);
  } catch (cause) {
    throw new Error(what, { cause });
  }
  await world.stop();
  return requests;
}

Deno.test("agent.rotate_key: a registration that is refused fails it, and the next one succeeds", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const refusal = { status: 400, body: { error: { code: "no", message: "not now" } } };
  world.portal.fault({ match: { path: "/rotate-key" }, count: 3, action: refusal });
  const first = offerRotation(world);
  await world.pass(120_000);
  assert.equal(first.result?.state, "failed");
  assert.equal(first.result?.step, "register");
  assert.equal(first.result?.code, "not_registered");
  assert.equal(world.portal.asked().filter((one) => one === "POST /rotate-key 400").length, 3);
  assert.deepEqual(publicKeysOf(world), before, "it goes on with the keys it has");

  await world.stop();
  world.start();
  const second = offerRotation(world, "rotate-2");
  await world.pass(ROTATION_MS);
  assertRotated(world, second, before);
  await world.stop();
});

Deno.test("agent.rotate_key: keys that the portal took although it answers no longer are not lost", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  // Registered, but every answer says 500 until the step gives up.
  world.portal.fault({
    match: { path: "/rotate-key" },
    count: null,
    action: { status: 500, after: true },
  });
  const first = offerRotation(world);
  await world.pass(2_400_000);
  assert.equal(first.result?.state, "failed");
  assert.equal(first.result?.code, "timeout");
  // What is sealed to the pair that was never acknowledged opens all the same.
  world.portal.desire({ servers: 1 });
  await world.pass(80_000);
  assert.equal(world.lastReport().desired.revision, 2);
  assert.deepEqual(world.conditions(), []);

  world.portal.portal.memory.faults.length = 0;
  const second = offerRotation(world, "rotate-2");
  await world.pass(ROTATION_MS);
  assertRotated(world, second, before);
  await world.stop();
});

Deno.test("agent.rotate_key: a portal that takes only the new key by then finds the agent with it", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  world.portal.fault({
    match: { path: "/rotate-key" },
    count: null,
    action: { status: 500, after: true },
  });
  const operation = offerRotation(world);
  await world.pass(60_000);
  assert.deepEqual(pairsIn(world), ["keys", "next"]);
  agentOf(world).previous = null;
  await world.pass(ROTATION_MS);
  world.portal.portal.memory.faults.length = 0;
  await world.pass(ROTATION_MS);
  assertRotated(world, operation, before);
  const refused = world.portal.asked().filter((one) => one.endsWith(" 401")).length;
  await world.pass(ROTATION_MS);
  assert.equal(world.portal.asked().filter((one) => one.endsWith(" 401")).length, refused);
  await world.stop();
});

/** The portal forgets the first registration that it takes. */
function loseRegistration(world: World): void {
  const [agent, before] = [agentOf(world), publicKeysOf(world)];
  const peer = world.portal.peer.bind(world.portal);
  let lost = false;
  world.portal.peer = async (request) => {
    const reply = await peer(request);
    if (!lost && request.url.endsWith("/rotate-key")) {
      lost = true;
      [agent.keys, agent.previous, agent.retired.length] = [before, null, 0];
    }
    return reply;
  };
}

Deno.test("agent.rotate_key: a portal that lost the registration is told it again", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  loseRegistration(world);
  const operation = offerRotation(world);
  await world.pass(ROTATION_MS);
  assertRotated(world, operation, before);
  await world.stop();
});

Deno.test("agent.rotate_key: a portal that lost the registration, and was not told in time, is told by the next rotation", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  loseRegistration(world);
  const first = offerRotation(world);
  const trouble = { match: { path: "/rotate-key" }, skip: 1, count: 100, action: { status: 503 } };
  world.portal.fault(trouble);
  await world.pass(2_400_000);
  assert.equal(first.result?.state, "failed");
  assert.equal(first.result?.step, "confirm");
  assert.deepEqual(pairsIn(world), ["keys", "previous"]);
  assert.equal(world.stored().revoked, false, "the old key is still taken");

  world.portal.portal.memory.faults.length = 0;
  const inUse = publicKeysOf(world);
  const second = offerRotation(world, "rotate-2");
  await world.pass(ROTATION_MS);
  assertRotated(world, second, before);
  assert.deepEqual(publicKeysOf(world), inUse, "no third pair was made");
  await world.stop();
});

Deno.test("agent.rotate_key: everything stored is sealed to the new key before that is confirmed", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const operation = offerRotation(world);
  // The sync that offers it passes, the one that would confirm it does not.
  world.portal.fault({ match: { path: "/sync" }, skip: 1, count: 3, action: { status: 503 } });
  while (!pairsIn(world).includes("previous")) await world.pass(1_000);
  assertSealedAnew(world);
  assert.notEqual(agentOf(world).previous, null);
  await world.pass(ROTATION_MS);
  assertRotated(world, operation, before);
  await world.stop();
});

for (const moment of ["before", "after"] as const) {
  Deno.test(`agent.rotate_key: revoked ${moment} the registration, both keys are tried and no more`, async () => {
    const world = await createSettledWorld();
    const agent = agentOf(world);
    const peer = world.portal.peer.bind(world.portal);
    world.portal.peer = (request) => {
      if (request.url.endsWith("/rotate-key") && moment === "before") agent.revoked = true;
      const reply = peer(request);
      if (request.url.endsWith("/rotate-key") && moment === "after") agent.revoked = true;
      return reply;
    };
    offerRotation(world);
    await world.pass(120_000);
    assert.equal(world.stored().revoked, true);
    assert.equal((await world.status()).stage, "revoked");
    const refused = world.portal.asked().filter((one) => one.endsWith(" 401"));
    assert.equal(refused.length % 2, 0, refused.join(", "));
    const asked = world.portal.asked().length;
    await world.pass(3_600_000);
    assert.equal(world.portal.asked().length, asked);
    await world.stop();
  });
}

Deno.test("agent.rotate_key: revoked in the middle of it, each start asks once, and by either key in time", async () => {
  const world = await createSettledWorld();
  const agent = agentOf(world);
  const peer = world.portal.peer.bind(world.portal);
  // The portal forgets the new keys: it knows the agent by the old ones alone.
  world.portal.peer = (request) =>
    request.url.endsWith("/rotate-key")
      ? Promise.resolve({ status: 200, headers: JSON_TYPE, body: "{}" })
      : peer(request);
  offerRotation(world);
  await world.pass(60_000);
  assert.deepEqual(pairsIn(world), ["keys", "previous"]);
  agent.revoked = true;
  await world.pass(120_000);
  assert.equal(world.stored().revoked, true);
  await world.stop();

  agent.revoked = false;
  let starts = 0;
  for (; world.stored().revoked && starts < 20; starts++) {
    const asked = world.portal.asked().length;
    world.start();
    await world.pass(10_000);
    if (world.stored().revoked) assert.equal(world.portal.asked().length, asked + 1);
    await world.stop();
  }
  assert.equal(world.stored().revoked, false, `after ${starts} starts`);
});

const JSON_TYPE = { "content-type": "application/json" };

Deno.test("agent.rotate_key: what the confirming sync brings may still be sealed to the old key", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const agent = agentOf(world);
  const peer = world.portal.peer.bind(world.portal);
  const revisions: number[] = [];
  world.portal.peer = async (request) => {
    const rotated = agent.keys.sealing !== before.sealing && agent.previous !== null;
    if (!rotated || !request.url.endsWith("/sync")) return await peer(request);
    // Sealed before the registration, answered after it.
    world.portal.desire({ servers: 1 });
    const { keys } = agent;
    agent.keys = { ...keys, sealing: before.sealing };
    const reply = await peer(request);
    agent.keys = keys;
    revisions.push(revisions.length);
    return reply;
  };
  const operation = offerRotation(world);
  await world.pass(120_000);
  assert.equal(revisions.length, 1, "one sync confirmed it");
  assertRotated(world, operation, before);
  assert.equal(world.lastReport().desired.revision, 2);
  assertSealedAnew(world);
  await world.stop();
});
