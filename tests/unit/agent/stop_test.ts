import assert from "node:assert/strict";
import { assertStarted } from "./started.ts";
import { createWorld, type World } from "./world.ts";

/** Stops at each of the first moments at which the program waits, and goes on afterwards. */
async function stopAtEverySleep(prepare: (world: World) => void, sleeps: number): Promise<void> {
  const world = createWorld();
  prepare(world);
  for (let number = 0; number < sleeps; number++) {
    world.start();
    await world.clock.settle();
    for (let passed = 0; passed < number; passed++) await world.clock.advanceToNext();
    const before = world.clock.now();
    assert.deepEqual(await world.stop(), { kind: "stopped" });
    assert.equal(world.clock.now(), before, "no time passed until it ended");
  }
  world.start();
  await world.pass(90_000);
  await assertStarted(world);
  await world.stop();
}

Deno.test("stop: ends at once wherever it sleeps, and the next start goes on", async () => {
  await stopAtEverySleep(() => {}, 12);
});

Deno.test("stop: in the middle of a request, too", async () => {
  for (const path of ["/enroll", "/sync", "/releases/*"]) {
    const world = createWorld();
    world.portal.fault({ match: { path }, action: { delay_ms: 20_000 } });
    world.start();
    await world.pass(1_000);
    assert.deepEqual(await world.stop(), { kind: "stopped" });
    await world.pass(30_000);
    world.start();
    await world.pass(70_000);
    await assertStarted(world);
    await world.stop();
  }
});

Deno.test("stop: while it waits for the network, for a 429, for keys, and while it idles", async () => {
  const faults: ((world: World) => void)[] = [
    ({ metadata }) => metadata.answer({ code: "connect", message: "no route" }),
    ({ portal }) =>
      portal.fault({
        match: {},
        action: { status: 429, headers: { "Retry-After": "3600" } },
      }),
    ({ disk }) => disk.setReadOnly(true),
    ({ portal }) => portal.fault({ match: {}, count: null, action: { status: 426 } }),
  ];
  for (const fault of faults) {
    const world = createWorld();
    fault(world);
    world.start();
    await world.pass(30_000);
    assert.equal(world.ended(), null);
    assert.deepEqual(await world.stop(), { kind: "stopped" });
  }
});
