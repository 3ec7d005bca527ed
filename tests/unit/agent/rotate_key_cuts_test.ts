import assert from "node:assert/strict";
import { assertRotated, offerRotation, publicKeysOf } from "./rotated.ts";
import { createSettledWorld, type World } from "./world.ts";

const ROTATION_MS = 150_000;

/** A way to die, and after which changes it leaves something that no other way does. */
const DEATHS = [
  { name: "killed after any change", moment: "after", after: /./ },
  { name: "killed in the middle of a write", moment: "during", after: /^disk\.write / },
  {
    name: "power cut before names are synced",
    moment: "after",
    power: "lost",
    after: /^(?:disk\.rename|http)/,
  },
  { name: "power cut, names kept", moment: "after", power: "kept", after: /^disk\.rename/ },
] as const;

/** A settled node whose next sync brings a rotation, its program just started. */
async function offered() {
  const world = await createSettledWorld();
  await world.stop();
  const before = publicKeysOf(world);
  const operation = offerRotation(world);
  return { world, before, operation, process: world.start() };
}

async function changesOfRotation(): Promise<readonly string[]> {
  const { world, before, operation, process } = await offered();
  while (operation.result === null) await world.clock.advanceToNext();
  const { length } = process.changes;
  await world.pass(ROTATION_MS);
  assertRotated(world, operation, before);
  const changes = process.changes.slice(0, length);
  await world.stop();
  return changes;
}

async function pass(world: World, operation: { result: unknown }): Promise<void> {
  for (let passed = 0; passed < 600_000 && operation.result === null; passed += 5_000) {
    await world.pass(5_000);
  }
  await world.pass(40_000);
}

for (const { name, after, moment, ...death } of DEATHS) {
  Deno.test(`agent.rotate_key: ${name}, the next start completes it`, async () => {
    const changes = await changesOfRotation();
    assert.ok(changes.filter((change) => change === "http.request").length >= 4);
    for (const [index, change] of changes.entries()) {
      if (!after.test(change)) continue;
      const { world, before, operation, process } = await offered();
      process.killAt(index + 1, moment);
      while (!process.isDead()) await world.clock.advanceToNext();
      world.kill("power" in death ? death.power : undefined);
      // After a boot the API is down for a while, and a first offer would be refused for it.
      if ("power" in death) await world.pass(10_000);
      world.start();
      await pass(world, operation);
      try {
        assertRotated(world, operation, before);
      } catch (cause) {
        throw new Error(`died at ${change} (number ${index + 1})`, { cause });
      }
      await world.stop();
    }
  });
}
