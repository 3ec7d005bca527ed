import assert from "node:assert/strict";
import { type AgentsWorld, createAgentsWorld } from "../../simulate/servers/agents_world.ts";
import { brokenRule } from "../../simulate/servers/rules.ts";

const TICK_MS = 5_000;

/** Three agents of which the first one leads. */
async function settled(ms: number): Promise<AgentsWorld> {
  const world = createAgentsWorld(() => 0.5);
  for (const server of world.servers) server.boot();
  await live(world, ms);
  assert.equal(world.portal.leads.get("demo-1"), true);
  return world;
}

async function live(world: AgentsWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += TICK_MS) {
    await world.clock.advance(TICK_MS);
    assert.equal(brokenRule(world), null);
  }
}

/** Runs `one` for each number of calls after which the first agent stands still; names the one that fails. */
async function eachStall(most: number, one: (calls: number) => Promise<boolean>): Promise<void> {
  let stalls = 0;
  for (let calls = 0; calls < most; calls++) {
    const hasStalled = await one(calls).catch((cause) => {
      throw new Error(`it stood still after ${calls} calls`, { cause });
    });
    if (hasStalled) stalls += 1;
  }
  assert.ok(stalls >= 5, `it stood still ${stalls} times`);
}

Deno.test("a leader that stands still in the middle of applying writes nothing once another leads", async () => {
  await eachStall(24, async (calls) => {
    const world = await settled(135_000);
    const [first] = world.servers;
    first?.strikeAt("pause", calls, "k8s.get");
    await live(world, 100_000);
    assert.equal(first?.isPaused(), true);
    first?.pause(false);
    await live(world, 30_000);
    world.stop();
    return true;
  });
});

for (const comesBack of [true, false]) {
  const what = comesBack ? "leaves one that has come back" : "leaves it to who leads now";
  Deno.test(`a leader that stands still before it deletes a Node ${what}`, async () => {
    await eachStall(14, async (calls) => {
      const world = await settled(30_000);
      const { servers: [first, , third], etcd, portal } = world;
      third?.powerOff();
      await live(world, 30_000);
      portal.offer("demo-1", "node.forget", { node: "demo-3" });
      first?.strikeAt("pause", calls, "servers.look");
      await live(world, 75_000);
      const isThere = () => etcd.k8s.read("/api/v1/nodes/demo-3") !== null;
      const hasStalled = first?.isPaused() === true && isThere();
      if (comesBack) third?.powerOn();
      else await live(world, 60_000);
      await live(world, 30_000);
      first?.pause(false);
      await live(world, 180_000);
      const { result } = portal.offered[0] ?? {};
      assert.notEqual(result, null);
      if (hasStalled) assert.deepEqual([result?.state, isThere()], ["failed", true]);
      world.stop();
      return hasStalled;
    });
  });
}
