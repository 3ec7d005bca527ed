import assert from "node:assert/strict";
import type { FakeReply } from "../../adapters/fake/http.ts";
import { assertNoSecretShown, assertOnlyOwnPaths, assertSmallState } from "./footprint.ts";
import type { Keys } from "./oracle.ts";
import { createWorld, type Question, type World } from "./world.ts";

/** Lets the next `question` be answered so, and the agent do with it what it does. */
export async function answered(
  world: World,
  question: Question,
  reply: () => FakeReply,
): Promise<void> {
  let done = false;
  world.answerWith((asked) => {
    if (asked.question !== question || done) return undefined;
    done = true;
    return reply();
  });
  assert.ok(await world.until(() => done), `no ${question} came within the hour`);
  await world.clock.settle();
  await world.clock.advance(2_000);
}

/** What holds after every case, whatever was answered. */
export async function assertHarmless(world: World): Promise<void> {
  assertOnlyOwnPaths(world);
  assertSmallState(world);
  await assertNoSecretShown(world);
}

/** An agent whose first start is over. */
export async function enrolled(seed: number): Promise<World> {
  const world = createWorld(seed);
  world.start();
  const done = () => (world.disk.text("/var/lib/pbx-agent/state.json") ?? "").includes('"done"');
  assert.ok(await world.until(done), "the first start does not end");
  return world;
}

/** The keys of the agent's boxes, for the oracle. */
export function keysOf(world: World): Keys {
  const { publicKey, secretKey } = world.sealingKey();
  return { publicKey, secretKey: secretKey.reveal() };
}

/** The largest body that the agent reads (protocol §1); what is larger is no answer. */
export const MAX_BODY = 262_144;
