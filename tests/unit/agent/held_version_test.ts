import assert from "node:assert/strict";
import { agentConditions, takenBack } from "./updating.ts";
import type { World } from "./world.ts";

const HOUR = 3_600_000;

/** The portal's clock is wrong for 35 s: at least one answer tells that time. */
async function wrongForAMoment(world: World, off: number): Promise<void> {
  world.portal.portal.state.clockOffsetMs += off;
  await world.pass(36_000);
  world.portal.portal.state.clockOffsetMs -= off;
  await world.pass(80_000);
}

Deno.test("held version: a portal whose clock is days off for a moment frees no version that failed", async () => {
  const world = await takenBack();
  const asked = world.artifacts.asked.length;
  world.start();
  await world.pass(600_000);
  for (const days of [3.3, -3.3, 40]) {
    await wrongForAMoment(world, days * 24 * HOUR);
    assert.equal(world.artifacts.asked.length, asked, `it is fetched too early: ${days}`);
    await world.stop();
    world.start();
    await wrongForAMoment(world, days * 24 * HOUR);
    assert.equal(world.artifacts.asked.length, asked, `too early after a restart: ${days}`);
  }
  await world.stop();
});

for (const days of [3.3, -3.3]) {
  Deno.test(`held version: a portal whose clock is ${days} days off as a version is held ends the hold in time`, async () => {
    const world = await takenBack();
    const asked = world.artifacts.asked.length;
    world.portal.portal.state.clockOffsetMs += days * 24 * HOUR;
    world.start();
    await world.pass(36_000);
    world.portal.portal.state.clockOffsetMs -= days * 24 * HOUR;
    await world.pass(5.9 * HOUR);
    assert.equal(world.artifacts.asked.length, asked, "it is fetched too early");
    assert.match(agentConditions(world), /not tried before 2026-01-01T18:/);
    await world.pass(0.3 * HOUR);
    assert.equal(world.artifacts.asked.length, asked + 1, "it is not fetched in time");
    await world.stop();
  });
}

Deno.test("held version: a version is held for six hours of the agent's life, which a crash shortens by minutes", async () => {
  const world = await takenBack();
  const asked = world.artifacts.asked.length;
  world.start();
  for (let hours = 0; hours < 5; hours++) {
    await world.pass(0.95 * HOUR);
    world.kill("lost");
    await world.pass(10 * HOUR);
    world.start();
  }
  await world.pass(1.2 * HOUR);
  assert.equal(world.artifacts.asked.length, asked, "the time without the agent counts");
  await world.pass(1.1 * HOUR);
  assert.equal(world.artifacts.asked.length, asked + 1, "a crash costs too much of it");
  await world.stop();
});
