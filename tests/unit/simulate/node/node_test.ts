import assert from "node:assert/strict";
import { createFakeRandom } from "../../../../adapters/fake/random.ts";
import { fail } from "../../../../core/result.ts";
import { createNode } from "../../../../simulate/node/node.ts";
import { createTimeline, runTimelines } from "../../../../simulate/virtual/timeline.ts";

/** A node that reaches no portal, and what happens on it. */
function start() {
  const timeline = createTimeline(0);
  const seen: string[] = [];
  const node = createNode({
    name: { clusterId: "c", nodeName: "n", serverId: "1", token: "pbx_token" },
    portal: "https://agents.example.com",
    clock: timeline.clock,
    random: createFakeRandom(1),
    http: () => ({
      request: () => Promise.resolve(fail({ code: "connect" as const, message: "nobody" })),
    }),
    releaseKeys: [],
    version: "0.1.0",
    programs: new Map(),
    observe: ({ kind }) => void seen.push(kind),
  });
  node.start();
  return { node, seen, pass: (until: number) => runTimelines([timeline], until) };
}

Deno.test("createNode: an agent that is killed is started again, by itself", async () => {
  const { node, seen, pass } = start();
  await pass(1_000);
  node.kill();
  await pass(60_000);
  assert.deepEqual(seen.filter((kind) => ["started", "killed", "booted"].includes(kind)), [
    "started",
    "killed",
    "started",
  ]);
});

Deno.test("createNode: where nothing runs nothing is killed, and a boot goes on", async () => {
  const { node, seen, pass } = start();
  await pass(1_000);
  void node.reboot();
  await pass(2_000);
  assert.equal(node.isUp(), false);
  node.kill();
  await pass(600_000);
  assert.equal(seen.includes("killed"), false);
  assert.deepEqual(seen.filter((kind) => kind === "started" || kind === "booted"), [
    "started",
    "booted",
    "started",
  ]);
});
