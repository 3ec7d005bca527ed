import assert from "node:assert/strict";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, START, type World } from "./world.ts";

const BUCKET = { endpoint: "s3.test", bucket: "snapshots", region: "lab-1", folder: "demo" };
const PARAMS = {
  ...BUCKET,
  access_key: { plain: "ACCESSKEY" },
  secret_key: { plain: "secret-key" },
};

/** Offers an operation, and ends the program after it was stored and before its first step was. */
async function takenInHand(world: World, expiresAt: string) {
  const offer = { id: "op-1", kind: "s3.verify", params: PARAMS, expires_at: expiresAt };
  const operation = world.portal.offer(offer);
  let isTaken = false;
  world.disk.onCall((name, path) => {
    if (!path.startsWith(STATE_FILE)) return null;
    isTaken ||= world.stored().operation !== null;
    return name === "write" && isTaken ? "full" : null;
  });
  await world.pass(40_000);
  assert.equal(world.stored().operation.step, null);
  await world.stop();
  world.disk.onCall(() => null);
  return operation;
}

Deno.test("operate: an operation that expired before its first step, over a restart, is refused", async () => {
  const world = await createSettledWorld();
  const operation = await takenInHand(world, new Date(world.clock.now() + 60_000).toISOString());
  await world.pass(120_000);
  world.start();
  await world.pass(40_000);
  assert.equal(operation.result?.state, "refused");
  assert.equal(operation.result?.code, "expired");
  assert.deepEqual(operation.events, []);
  assert.equal(world.stored().operation, null);
  await world.stop();
});

Deno.test("operate: one that has not expired begins after the restart", async () => {
  const world = await createSettledWorld();
  const operation = await takenInHand(world, new Date(START + 24 * 3_600_000).toISOString());
  world.start();
  await world.pass(40_000);
  assert.equal(operation.result?.state, "succeeded", JSON.stringify(operation.result));
  await world.stop();
});

for (const days of [-2, 2]) {
  Deno.test(`operate: after a boot whose clock is ${days} days off the portal's time says whether it has expired`, async () => {
    for (const isExpired of [true, false]) {
      const world = await createSettledWorld();
      const expiresAt = START + (isExpired ? 10 : 24 * 60) * 60_000;
      const operation = await takenInHand(world, new Date(expiresAt).toISOString());
      await world.pass(3_600_000);
      const off = days * 24 * 3_600_000;
      world.clock.setWallClock(world.clock.now() + off);
      world.portal.portal.state.clockOffsetMs -= off;
      world.portal.down = true;
      world.reboot();
      world.start();
      await world.pass(120_000);
      assert.equal(world.stored().operation.step, null, "it waits for the portal's time");
      assert.equal(world.stored().operation.result, undefined, "it waits for the portal's time");
      world.portal.down = false;
      await world.pass(300_000);
      assert.equal(operation.result?.state, isExpired ? "refused" : "succeeded");
      assert.equal(operation.events.length === 0, isExpired);
      await world.stop();
    }
  });
}
