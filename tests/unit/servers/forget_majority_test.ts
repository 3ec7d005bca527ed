import assert from "node:assert/strict";
import { createAgentsWorld } from "../../simulate/servers/agents_world.ts";
import { brokenRule } from "../../simulate/servers/rules.ts";

Deno.test("a silent server that holds the majority up is not forgotten by one that does not reach it", async () => {
  const world = createAgentsWorld(() => 0.5, 5);
  const { clock, etcd, servers, portal } = world;
  for (const server of servers) server.boot();
  await clock.advance(60_000);
  // Another agent than the first one's leads; etcd is led by the first server, which reaches everybody.
  servers[0]?.kill();
  await clock.advance(120_000);
  const leader = servers.findIndex(({ name }) =>
    portal.leads.get(name) === true && name !== "demo-1"
  );
  const [silent = 0, ...lost] = [1, 2, 3, 4].filter((number) => number !== leader);
  for (const number of lost) servers[number]?.loseDatabase();
  etcd.setReach(leader, silent, false);
  servers[silent]?.silence(true);
  await clock.advance(15_000);
  assert.deepEqual(etcd.votes(), { all: 5, intact: 3 });
  assert.ok(etcd.isUp(leader) && etcd.isUp(silent));

  portal.offer(servers[leader]?.name ?? "", "node.forget", { node: servers[silent]?.name ?? "" });
  await clock.advance(120_000);
  assert.equal(brokenRule(world), null);
  assert.equal(portal.offered[0]?.result?.code, "no_majority");
  assert.ok(etcd.isUp(leader));
  world.stop();
});
