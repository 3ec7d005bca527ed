import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import { inWorld, type World } from "./world.ts";

/** Queues an operation and waits for its result at the portal. */
async function carryOut(world: World, id: string, kind: string, params = {}) {
  await world.admin("POST", "/clusters/demo/operations", { id, kind, params });
  return await world.until(`the result of ${id}`, () => {
    const { operations } = world.running.portal.state;
    return operations.find((operation) => operation.id === id)?.result ?? null;
  });
}

Deno.test("several servers: drains and Nodes that are gone, by the agent that leads", async () => {
  await inWorld(async (world) => {
    await world.startSynced();
    const refused = await carryOut(world, "drain-0", "node.drain", { node: "demo-2" });
    assert.deepEqual([refused.state, refused.code], ["refused", "single_server"]);
    assert.equal((await carryOut(world, "rejoin-0", "server.rejoin")).code, "single_server");

    await world.desire({ servers: 3 });
    const api = world.node.api();
    assert.ok(api !== null);
    api.setNode("demo-2", true);
    const pod = (name: string, volumes: readonly JsonObject[]) =>
      api.write(`/api/v1/namespaces/default/pods/${name}`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, namespace: "default" },
        spec: {
          nodeName: "demo-2",
          containers: [{ name: "c", image: "i" }],
          volumes: [...volumes],
        },
        status: { phase: "Running" },
      }, "kubelet");
    pod("web", []);
    pod("cache", [{ name: "tmp", emptyDir: {} }]);
    const draining = carryOut(world, "drain-1", "node.drain", { node: "demo-2" });
    await world.until("the Pod to be on its way", () => {
      const metadata = api.read("/api/v1/namespaces/default/pods/web")?.["metadata"] as JsonObject;
      return metadata["deletionTimestamp"] === undefined ? null : true;
    });
    api.drop("/api/v1/namespaces/default/pods/web");
    assert.deepEqual((await draining).output, { evicted: 1, remaining: ["default/cache"] });

    const own = await carryOut(world, "forget-1", "node.forget", { node: "demo-1" });
    assert.deepEqual([own.state, own.code], ["failed", "own_node"]);
    const alive = await carryOut(world, "forget-2", "node.forget", { node: "demo-2" });
    assert.deepEqual([alive.state, alive.code], ["failed", "node_alive"]);
    assert.deepEqual(
      (await carryOut(world, "forget-3", "node.forget", { node: "demo-3" })).output,
      {
        existed: false,
      },
    );
  });
});
