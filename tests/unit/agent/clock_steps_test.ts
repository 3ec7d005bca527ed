import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { createSettledWorld, type World } from "./world.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const STEPS = [-20 * 365 * DAY_MS, -DAY_MS, -2 * MINUTE_MS, 2 * MINUTE_MS, DAY_MS, 40 * DAY_MS];

/** Sets the node's wall clock; the portal's goes on as it was. */
function step(world: World, ms: number): void {
  world.clock.setWallClock(world.clock.now() + ms);
  world.portal.portal.state.clockOffsetMs -= ms;
}

/** Sets the portal's clock. */
function stepPortal(world: World, ms: number): void {
  world.portal.portal.state.clockOffsetMs += ms;
}

function window(start: string, minutes: number): JsonObject {
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  return { maintenance: { timezone: "UTC", windows: [{ days, start, minutes }] } };
}

const CHANGE = { host: { snapshots: { retention: 7 } } };

function restarts({ systemd }: World): number {
  return systemd.calls.filter((call) => call === "restart k3s.service").length;
}

/** Until so many milliseconds after the world's start, by the clock that nobody can set. */
async function passUntil(world: World, ms: number): Promise<void> {
  await world.pass(ms - world.clock.monotonic());
}

/** A settled world with a pending restart that waits for the window from 13:00 on. */
async function pendingWorld(minutes = 30): Promise<World> {
  const world = await createSettledWorld();
  world.portal.desire({ ...window("13:00", minutes), ...CHANGE });
  await world.pass(70_000);
  assert.equal(restarts(world), 0);
  return world;
}

Deno.test("clock steps: an operation that ended is not run again, whichever clock is set", async () => {
  for (const ms of STEPS) {
    for (const set of [step, stepPortal]) {
      const world = await createSettledWorld();
      world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
      await world.pass(70_000);
      const first = world.stored().finished["op-1"];
      const name = `${set.name} ${ms}`;
      set(world, ms);
      world.portal.offer({ id: "op-2", kind: "no.such", params: {} });
      await world.pass(100_000);
      assert.deepEqual(Object.keys(world.stored().finished), ["op-1", "op-2"], name);
      set(world, -ms);
      world.portal.offer({ id: "op-1", kind: "no.such", params: {} }, "again");
      await world.pass(100_000);
      assert.ok(world.requests("/operations/op-1/events") > 1, "its result is sent again");
      assert.equal(world.stored().finished["op-1"].begun_at, first.begun_at, name);
      assert.ok(world.stored().finished["op-1"].at <= first.at, name);
      await world.stop();
    }
  }
});

Deno.test("clock steps: one answer with a wrong time opens no window", async () => {
  const world = await pendingWorld();
  for (const ms of [60 * MINUTE_MS, DAY_MS + 60 * MINUTE_MS, -23 * 60 * MINUTE_MS]) {
    stepPortal(world, ms);
    await world.pass(36_000);
    stepPortal(world, -ms);
    await world.pass(80_000);
    assert.equal(restarts(world), 0, `${ms}`);
  }
  await passUntil(world, 61 * MINUTE_MS);
  assert.equal(restarts(world), 1, "and no window is missed for it");
  await world.stop();
});

Deno.test("clock steps: neither a restart nor a boot is a second witness of a portal's wrong time", async () => {
  for (const boots of [false, true]) {
    const world = await pendingWorld();
    stepPortal(world, 60 * MINUTE_MS);
    const told = world.requests("/sync");
    while (world.requests("/sync") === told) await world.pass(1_000);
    await world.stop();
    if (boots) world.reboot();
    world.start();
    await world.pass(40_000);
    assert.equal(restarts(world), 0, `${boots}`);
    stepPortal(world, -60 * MINUTE_MS);
    await passUntil(world, 61 * MINUTE_MS);
    assert.equal(restarts(world), 1, "and no window is missed for it");
    await world.stop();
  }
});

Deno.test("clock steps: a portal that keeps to its new time is followed", async () => {
  const world = await pendingWorld();
  stepPortal(world, 60 * MINUTE_MS);
  await world.pass(36_000);
  assert.equal(restarts(world), 0);
  await world.pass(120_000);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("clock steps: a window opens in time although the wall clock was set while the portal is away", async () => {
  for (const ms of STEPS) {
    // Over a restart of the agent in the same boot too.
    for (const isRestarted of [false, true]) {
      const world = await pendingWorld();
      const name = `${ms} ${isRestarted}`;
      world.portal.down = true;
      await passUntil(world, 30 * MINUTE_MS);
      step(world, ms);
      if (isRestarted) {
        await world.stop();
        world.start();
      }
      await passUntil(world, 59 * MINUTE_MS);
      assert.equal(restarts(world), 0, name);
      // Nothing that waits for a window starts before the portal has answered.
      await passUntil(world, 63 * MINUTE_MS);
      assert.equal(restarts(world), 0, name);
      assert.match(
        (await world.status()).conditions.map(({ message }) => message).join(),
        /certain/,
      );
      world.portal.down = false;
      await passUntil(world, 75 * MINUTE_MS);
      assert.equal(restarts(world), 1, name);
      await world.stop();
    }
  }
});

Deno.test("clock steps: an offset that was learnt is not added to a clock that was corrected", async () => {
  const world = await createSettledWorld();
  // The node's clock is a day behind, which the portal has told.
  step(world, -DAY_MS);
  await world.pass(70_000);
  world.portal.desire({ ...window("13:00", 30), ...CHANGE });
  await world.pass(36_000);
  world.portal.down = true;
  await world.pass(36_000);
  // NTP sets it right: with the offset it would be tomorrow. The next start does not believe it either.
  step(world, DAY_MS);
  await world.stop();
  world.start();
  await world.pass(60_000);
  const before = world.portal.asked().length;
  world.portal.down = false;
  await passUntil(world, 58 * MINUTE_MS);
  assert.deepEqual(world.portal.asked().slice(before).filter((one) => one.endsWith("409")), []);
  assert.equal(restarts(world), 0);
  await passUntil(world, 62 * MINUTE_MS);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("clock steps: after a boot no window opens before the portal has told the time", async () => {
  const world = await pendingWorld();
  world.portal.down = true;
  world.kill("kept");
  step(world, 60 * MINUTE_MS);
  world.start();
  await world.pass(10 * MINUTE_MS);
  assert.equal(restarts(world), 0);
  world.portal.down = false;
  await passUntil(world, 59 * MINUTE_MS);
  assert.equal(restarts(world), 0);
  await passUntil(world, 62 * MINUTE_MS);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("clock steps: slewing changes nothing", async () => {
  const world = await pendingWorld();
  world.portal.down = true;
  // Half a second in each of 100 steps is what no clock is slewed by faster.
  for (let part = 0; part < 100; part++) {
    await world.pass(33_000);
    step(world, 500);
  }
  await passUntil(world, 62 * MINUTE_MS);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("clock steps: requests are signed with the portal's time through all of it", async () => {
  const world = await createSettledWorld();
  for (const ms of STEPS) {
    for (const set of [step, stepPortal]) {
      const before = world.portal.asked().length;
      set(world, ms);
      await world.pass(70_000);
      set(world, -ms);
      await world.pass(70_000);
      const skewed = world.portal.asked().slice(before).filter((one) => one.endsWith(" 409"));
      // A step of the node's own clock is none of the portal's business.
      assert.equal(skewed.length, set === step ? 0 : 2, `${set.name} ${ms}`);
    }
  }
  assert.deepEqual(world.portal.portal.memory.breaches, []);
  await world.stop();
});

Deno.test("clock steps: how long the agent has lived outlives it, within an hour", async () => {
  const world = await createSettledWorld();
  await world.pass(90 * MINUTE_MS);
  step(world, -DAY_MS);
  world.kill();
  const { lived_ms } = world.stored().clock;
  assert.ok(lived_ms >= 60 * MINUTE_MS && lived_ms <= 91 * MINUTE_MS, `${lived_ms}`);
  world.start();
  step(world, 40 * DAY_MS);
  await world.pass(61 * MINUTE_MS);
  const lived = world.stored().clock.lived_ms - lived_ms;
  assert.ok(lived >= 60 * MINUTE_MS && lived <= 62 * MINUTE_MS, `${lived}`);
  await world.stop();
});
