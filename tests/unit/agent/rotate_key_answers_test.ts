import assert from "node:assert/strict";
import { agentOf, assertRotated, offerRotation, pairsIn, publicKeysOf } from "./rotated.ts";
import { createSettledWorld, type World } from "./world.ts";

const REGISTRATION = { path: "/rotate-key" };

function registrations(world: World): string[] {
  return world.portal.asked().filter((one) => one.includes(" /rotate-key "));
}

for (const body of ["[]", "5", '"taken"']) {
  Deno.test(`agent.rotate_key: 200 with ${body} is malformed, and the registration is repeated`, async () => {
    const world = await createSettledWorld();
    const before = publicKeysOf(world);
    const action = { status: 200, body: JSON.parse(body) };
    world.portal.fault({ match: REGISTRATION, count: 2, action });
    const operation = offerRotation(world);
    await world.pass(34_000);
    assert.deepEqual(pairsIn(world), ["keys", "next"], "the portal has not said that it took them");
    await world.pass(120_000);
    assert.equal(registrations(world).length, 3);
    assertRotated(world, operation, before);
    await world.stop();
  });
}

Deno.test("agent.rotate_key: a 200 that the portal never gave, or forgot, is followed by another registration", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  world.portal.fault({ match: REGISTRATION, action: { status: 200, body: {} } });
  const operation = offerRotation(world);
  await world.pass(36_000);
  assert.deepEqual(pairsIn(world), ["keys", "previous"], "the answer says that it took them");
  assert.notEqual(agentOf(world).keys.signing, publicKeysOf(world).signing, "but it did not");
  await world.pass(120_000);
  // The new pair is refused, the one before signs.
  assert.deepEqual(registrations(world).slice(1), [
    "POST /rotate-key 401",
    "POST /rotate-key 200",
  ]);
  assertRotated(world, operation, before);
  await world.stop();
});

Deno.test("agent.rotate_key: a registration that both keys are refused for ends the agent's life, not the operation", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const refusal = { status: 401, body: { error: { code: "revoked", message: "no more" } } };
  world.portal.fault({ match: REGISTRATION, count: 2, action: refusal });
  const operation = offerRotation(world);
  await world.pass(40_000);
  assert.deepEqual(registrations(world), Array(2).fill("POST /rotate-key 401"));
  assert.match(world.portal.asked().at(-1) ?? "", /rotate-key/, "nothing is asked after it");
  const asked = world.portal.asked().length;
  await world.pass(45 * 60_000);
  assert.equal(world.portal.asked().length, asked);
  assert.equal((await world.status()).stage, "revoked");
  assert.equal(operation.result, null);

  // The identity counts again: the operation goes on where it was. By chance a start tries the other key.
  for (let start = 0; start < 10 && world.stored().revoked; start++) {
    await world.stop();
    world.start();
    await world.pass(10_000);
  }
  await world.pass(120_000);
  assertRotated(world, operation, before);
  await world.stop();
});

Deno.test("agent.rotate_key: a Retry-After of the registration is waited out across a restart", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const action = { status: 429, headers: { "retry-after": "600" } };
  world.portal.fault({ match: REGISTRATION, action });
  const operation = offerRotation(world);
  await world.pass(60_000);
  assert.equal(registrations(world).length, 1);
  await world.stop();
  world.start();
  await world.pass(500_000);
  assert.equal(registrations(world).length, 1);
  await world.pass(150_000);
  assert.equal(registrations(world).length, 2);
  assertRotated(world, operation, before);
  await world.stop();
});

Deno.test("agent.rotate_key: an operation beside the confirmation may be sealed to the old key", async () => {
  const world = await createSettledWorld();
  const old = publicKeysOf(world);
  // The portal takes the keys, but the agent hears of it only when its operation has ended.
  world.portal.fault({ match: REGISTRATION, count: null, action: { status: 500, after: true } });
  const rotation = offerRotation(world);
  while (rotation.result === null) await world.pass(60_000);
  assert.equal(rotation.result.code, "timeout");
  assert.deepEqual(pairsIn(world), ["keys", "next"]);
  const secret = (plain: string) => ({ plain, to: old.sealing });
  const operation = world.portal.offer({
    id: "verify-1",
    kind: "s3.verify",
    params: {
      endpoint: "s3.test",
      bucket: "snapshots",
      region: "lab-1",
      folder: "demo",
      access_key: secret("ACCESSKEY"),
      secret_key: secret("secret-key"),
    },
  });
  // From now on it knows the agent by the new keys alone.
  agentOf(world).previous = null;
  await world.pass(120_000);
  assert.deepEqual(pairsIn(world), ["keys"]);
  assert.equal(operation.result?.state, "succeeded", JSON.stringify(operation.result));
  await world.stop();
});

Deno.test("agent.rotate_key: keys that were refused for good give way to others, without a restart", async () => {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const refusal = { status: 400, body: { error: { code: "no", message: "not now" } } };
  world.portal.fault({ match: REGISTRATION, count: 3, action: refusal });
  const first = offerRotation(world);
  await world.pass(120_000);
  assert.equal(first.result?.code, "not_registered");
  assert.deepEqual(pairsIn(world), ["keys"]);
  const second = offerRotation(world, "rotate-2");
  await world.pass(300_000);
  assertRotated(world, second, before);
  await world.stop();
});

Deno.test("agent.rotate_key: keys that the portal may know although it refuses them are kept", async () => {
  const world = await createSettledWorld();
  const refusal = { status: 400, body: { error: { code: "no", message: "not now" } } };
  world.portal.fault({ match: REGISTRATION, action: { cut: "after" } });
  world.portal.fault({ match: REGISTRATION, count: 3, action: refusal });
  const operation = offerRotation(world);
  await world.pass(180_000);
  assert.equal(operation.result?.code, "not_registered");
  assert.deepEqual(pairsIn(world), ["keys", "next"]);
  // It seals to them from now on.
  world.portal.desire({ servers: 1 });
  await world.pass(75_000);
  assert.equal(world.lastReport().desired.revision, 2);
  await world.stop();
});
