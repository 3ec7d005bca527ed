import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { putBudget, putPod } from "../operations/servers.ts";
import type { Machine } from "../operations/machine.ts";
import { type AgentsWorld, createAgentsWorld } from "../../simulate/servers/agents_world.ts";

/** Three agents of which the first one leads. */
async function settled(): Promise<AgentsWorld> {
  const world = createAgentsWorld(() => 0.5);
  for (const server of world.servers) server.boot();
  await world.clock.advance(60_000);
  assert.deepEqual(leading(world), ["demo-1"]);
  return world;
}

/** Who last told the portal that it leads. */
function leading({ portal }: AgentsWorld): readonly string[] {
  return [...portal.leads].filter(([, leads]) => leads).map(([name]) => name);
}

function lastOf({ portal }: AgentsWorld, server: string) {
  const last = portal.offered.filter((each) => each.server === server).at(-1);
  assert.ok(last);
  return last;
}

/** A node with a Pod whose budget never allows it: its drain lasts until its deadline. */
function guarded({ etcd }: AgentsWorld, node: string): void {
  const machine = { k8s: etcd.k8s } as Machine;
  putPod(machine, "guarded", { node, labels: { app: "guarded" } });
  putBudget(machine, 0);
}

function isCordoned({ etcd }: AgentsWorld, node: string): boolean {
  const spec = etcd.k8s.read(`/api/v1/nodes/${node}`)?.["spec"] as JsonObject | undefined;
  return spec?.["unschedulable"] === true;
}

Deno.test("the leader dies in a drain: the next one finishes it, and the old one touches nothing more", async () => {
  const world = await settled();
  const [first] = world.servers;
  guarded(world, "demo-3");
  world.portal.offer("demo-1", "node.drain", { node: "demo-3", timeout_s: 86_400 });
  await world.clock.advance(60_000);
  assert.equal(isCordoned(world, "demo-3"), true);
  first?.kill();
  await world.clock.advance(120_000);
  const [next] = leading(world).filter((name) => name !== "demo-1");
  assert.ok(next !== undefined, "another one leads within two minutes");

  world.portal.offer(next, "node.drain", { node: "demo-3", timeout_s: 86_400 });
  putBudget({ k8s: world.etcd.k8s } as Machine, 5);
  await world.clock.advance(120_000);
  assert.equal(lastOf(world, next).result?.state, "succeeded");
  // Whatever is on the node now is not for the old leader to decide.
  putPod({ k8s: world.etcd.k8s } as Machine, "later", { node: "demo-3" });
  world.etcd.writes.length = 0;
  first?.boot();
  await world.clock.advance(200_000);
  const { result } = lastOf(world, "demo-1");
  assert.deepEqual([result?.state, result?.code], ["failed", "not_leader"]);
  assert.match(result?.message ?? "", new RegExp(`${next} does`));
  assert.deepEqual(world.etcd.writes.filter(({ by }) => by === "demo-1"), []);
  assert.notEqual(world.etcd.k8s.read("/api/v1/namespaces/default/pods/later"), null);
  world.stop();
});

Deno.test("the leader dies in a drain and is back before another leads: it goes on", async () => {
  const world = await settled();
  const [first] = world.servers;
  guarded(world, "demo-3");
  world.portal.offer("demo-1", "node.drain", { node: "demo-3", timeout_s: 86_400 });
  await world.clock.advance(60_000);
  first?.kill();
  await world.clock.advance(20_000);
  first?.boot();
  putBudget({ k8s: world.etcd.k8s } as Machine, 5);
  await world.clock.advance(120_000);
  assert.equal(lastOf(world, "demo-1").result?.state, "succeeded");
  world.stop();
});

Deno.test("the leader dies before it forgets a Node: it is not deleted twice, nor a new one of that name", async () => {
  const world = await settled();
  const [first, , third] = world.servers;
  third?.kill();
  third?.stopK3s();
  await world.clock.advance(30_000);
  world.portal.offer("demo-1", "node.forget", { node: "demo-3" });
  await world.clock.advance(40_000);
  first?.kill();
  await world.clock.advance(120_000);
  world.portal.offer("demo-2", "node.forget", { node: "demo-3" });
  await world.clock.advance(120_000);
  assert.deepEqual(lastOf(world, "demo-2").result, {
    state: "succeeded",
    output: { existed: true },
  });
  assert.deepEqual([...world.etcd.members.values()].sort(), [0, 1]);
  // The server comes back as a new one.
  world.etcd.k8s.setNode("demo-3", false);
  first?.boot();
  await world.clock.advance(240_000);
  assert.equal(lastOf(world, "demo-1").result?.state, "failed");
  assert.notEqual(world.etcd.k8s.read("/api/v1/nodes/demo-3"), null);
  world.stop();
});

Deno.test("the leader rejoins: another one leads meanwhile, and it comes back as one of many", async () => {
  const world = await settled();
  world.servers[0]?.kill();
  await world.clock.advance(120_000);
  const [leader = ""] = leading(world).filter((name) => name !== "demo-1");
  world.servers[0]?.boot();
  await world.clock.advance(60_000);
  world.portal.offer(leader, "server.rejoin");
  await world.clock.advance(240_000);
  assert.deepEqual(lastOf(world, leader).result, { state: "succeeded", output: {} });
  assert.equal(leading(world).length, 1);
  assert.ok(world.servers.every((_, number) => world.etcd.isUp(number)));
  world.stop();
});
