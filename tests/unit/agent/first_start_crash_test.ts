import { assertStarted } from "./started.ts";
import { createWorld, type World } from "./world.ts";

/** Long enough for a first start, and for the sync that reports it. */
const WHOLE_START_MS = 40_000;

/** A way to die, and after which changes it leaves something that no other way does. */
interface Death {
  readonly name: string;
  readonly moment: "during" | "after";
  /** What happens to names that were not synced; without it only the process dies. */
  readonly power?: "lost" | "kept";
  readonly after: RegExp;
}

const DEATHS: readonly Death[] = [
  { name: "killed after any change", moment: "after", after: /./ },
  { name: "killed in the middle of a write", moment: "during", after: /^disk\.write / },
  {
    name: "power cut before names are synced",
    moment: "after",
    power: "lost",
    after: /^(?:disk\.(?:write|rename)|http|systemd|k8s)/,
  },
  { name: "power cut, names kept", moment: "after", power: "kept", after: /^disk\.rename/ },
  {
    name: "power cut in the middle of a write",
    moment: "during",
    power: "kept",
    after: /^disk\.write/,
  },
];

/** What a whole first start changes outside of itself, in order. */
async function changesOfFirstStart(): Promise<readonly string[]> {
  const world = createWorld();
  const process = world.start();
  await world.pass(WHOLE_START_MS);
  await assertStarted(world);
  await world.stop();
  return process.changes;
}

async function diedAt(change: number, { moment, power }: Death): Promise<World> {
  const world = createWorld();
  const process = world.start();
  process.killAt(change, moment);
  while (!process.isDead()) await world.clock.advanceToNext();
  world.kill(power);
  world.start();
  await world.pass(WHOLE_START_MS);
  return world;
}

for (const death of DEATHS) {
  Deno.test(`first start: ${death.name}, the next start completes it and enrolls once`, async () => {
    for (const [index, change] of (await changesOfFirstStart()).entries()) {
      if (!death.after.test(change)) continue;
      const world = await diedAt(index + 1, death);
      try {
        await assertStarted(world);
      } catch (cause) {
        throw new Error(`died at ${change} (number ${index + 1})`, { cause });
      }
      await world.stop();
    }
  });
}
