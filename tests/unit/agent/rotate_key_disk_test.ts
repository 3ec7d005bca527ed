import assert from "node:assert/strict";
import { agentOf, assertRotated, offerRotation, pairsIn, publicKeysOf } from "./rotated.ts";
import { createSettledWorld, type World } from "./world.ts";

/** Calls that a full disk fails. */
const WRITES = /^(?:write|append|makeDirectory|rename|syncDirectory)$/;
/** How long the disk stays full where it does for a while, milliseconds. */
const LONG_MS = 600_000;

const LONG = Deno.env.get("PBX_LONG") === "1";

/** How the disk is full: for one call, for ten minutes, or for ten minutes with a restart in their middle. */
const DURATIONS = ["one call", "ten minutes", "ten minutes and a restart"] as const;
/** What the portal does with the old pair once it took the new one. */
const PORTALS = ["keeps taking the old pair", "refuses the old pair at once"] as const;

/** A rotation that is offered, whose disk is full from the `at`-th write after the registration (1 is the first). */
async function rotate(
  at: number | null,
  duration: (typeof DURATIONS)[number] = "one call",
  portal: (typeof PORTALS)[number] = PORTALS[0],
) {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const writes: string[] = [];
  let fullSince: number | null = null;
  const isRegistered = () => agentOf(world).keys.signing !== before.signing;
  world.disk.onCall((call, path) => {
    if (!WRITES.test(call) || !isRegistered()) return null;
    if (portal === PORTALS[1]) agentOf(world).previous = null;
    writes.push(`${call} ${path}`);
    const now = world.clock.now();
    if (writes.length === at) {
      fullSince = now;
      return "full";
    }
    const lasts = duration === "one call" ? 0 : LONG_MS;
    return fullSince !== null && now < fullSince + lasts ? "full" : null;
  });
  const operation = offerRotation(world);
  let restarted = duration !== "ten minutes and a restart";
  for (let passed = 0; passed < 1_500_000 && operation.result === null; passed += 10_000) {
    await world.pass(10_000);
    if (restarted || fullSince === null || world.clock.now() < fullSince + LONG_MS / 2) continue;
    restarted = true;
    await world.stop();
    world.start();
  }
  await world.pass(80_000);
  return { world, operation, before, writes };
}

Deno.test("agent.rotate_key: a disk that is full at any write after the registration only delays it", async () => {
  const whole = await rotate(null);
  assertRotated(whole.world, whole.operation, whole.before);
  await whole.world.stop();
  // What comes after the confirmation is the operation's report, and anything's.
  const last = whole.writes.findLastIndex((write) => write.includes("identity.json"));
  assert.ok(last > 8, String(whole.writes));
  for (const [index, write] of whole.writes.slice(0, last + 1).entries()) {
    const at = index + 1;
    // The same write at another time is for PBX_LONG=1, and so is each with both kinds of portal.
    if (!LONG && whole.writes.indexOf(write) !== index) continue;
    for (const [number, duration] of DURATIONS.entries()) {
      for (const portal of LONG ? PORTALS : PORTALS.slice((at + number) % 2).slice(0, 1)) {
        const { world, operation, before } = await rotate(at, duration, portal);
        try {
          assertRotated({ ...world, conditions: () => [] }, operation, before);
        } catch (cause) {
          const where = `${write} (${at}), ${duration}, the portal ${portal}`;
          throw new Error(where, { cause });
        }
        await world.stop();
      }
    }
  }
});

/** A node whose operation is gone, and whose next pair the portal took or did not. */
async function left(taken: boolean): Promise<{ world: World; before: { signing: string } }> {
  const world = await createSettledWorld();
  const before = publicKeysOf(world);
  const action = { status: 500, after: taken };
  world.portal.fault({ match: { path: "/rotate-key" }, count: null, action });
  const operation = offerRotation(world);
  while (operation.result === null) await world.pass(60_000);
  assert.equal(operation.result?.code, "timeout");
  assert.deepEqual(pairsIn(world), ["keys", "next"]);
  world.portal.portal.memory.faults.length = 0;
  return { world, before };
}

for (const taken of [true, false]) {
  Deno.test(`agent.rotate_key: left by its operation, it is completed by a later cycle (taken: ${taken})`, async () => {
    const { world, before } = await left(taken);
    await world.stop();
    world.start();
    await world.pass(400_000);
    assert.deepEqual(pairsIn(world), ["keys"]);
    assert.notEqual(publicKeysOf(world).signing, before.signing);
    assert.deepEqual(agentOf(world).keys, publicKeysOf(world));
    await world.stop();
  });
}

Deno.test("agent.rotate_key: a pair that the portal refuses for good is not sent again in every cycle", async () => {
  const { world } = await left(false);
  const action = { status: 400, body: { error: { code: "no", message: "no" } } };
  world.portal.fault({ match: { path: "/rotate-key" }, count: null, action });
  await world.pass(1_500_000);
  const registrations = () => world.portal.asked().filter((one) => one.includes("/rotate-key"));
  const sent = registrations().length;
  await world.pass(1_800_000);
  assert.equal(registrations().length, sent);
  await world.stop();
});
