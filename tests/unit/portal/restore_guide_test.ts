import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { type Agent, type Cluster, emptyState } from "../../../adapters/portal/state.ts";
import { serveAdmin } from "../../../adapters/portal/admin/serve_admin.ts";
import type { Admin } from "../../../adapters/portal/admin/admin.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { firstCluster } from "../../../adapters/portal/first_cluster.ts";
import { createMemory } from "../../../adapters/portal/memory.ts";

const NAMES = ["demo-1", "demo-2", "demo-3"];

/** A portal whose cluster has three servers that all sync. */
function threeServers() {
  const state = emptyState("salt");
  const cluster: Cluster = firstCluster("demo", createFakeRandom(3));
  state.clusters.set("demo", cluster);
  const time = { now: 1_000_000 };
  const agents = NAMES.map((nodeName, index): Agent => {
    cluster.nodes.set(nodeName, { serverId: String(4711001 + index) });
    const agent = {
      id: `agent-${index}`,
      clusterId: "demo",
      nodeName,
      serverId: String(4711001 + index),
      arch: "amd64",
      enrolledAt: 0,
      keys: { signing: "", sealing: "" },
      previous: null,
      retired: [],
      revoked: false,
      lastSyncAt: time.now,
      report: { node: { api: "up" } },
    } satisfies Agent;
    state.agents.set(agent.id, agent);
    return agent;
  });
  const admin = {
    portal: { state, memory: createMemory(), touch: () => {}, now: () => time.now },
  } as unknown as Admin;
  async function call(change: JsonObject = {}) {
    const params = { snapshot: "one-demo-1-1", from: "local" };
    const answer = await serveAdmin(
      admin,
      {
        method: "POST",
        target: "/admin/clusters/demo/restore",
        headers: new Map([["host", "127.0.0.1"]]),
        body: new TextEncoder().encode(JSON.stringify({ id: "r1", params, ...change })),
      } as unknown as Parameters<typeof serveAdmin>[1],
    );
    return { status: answer.status, body: JSON.parse(new TextDecoder().decode(answer.body)) };
  }
  /** The agents that are on sync now, with their API up or down. */
  function heard(...up: (boolean | null)[]) {
    for (const [index, agent] of agents.entries()) {
      const api = up[index];
      if (api === null || api === undefined) continue;
      agent.lastSyncAt = time.now;
      agent.report = { node: { api: api ? "up" : "down" } };
    }
  }
  function end(result: "succeeded" | "failed", message?: string) {
    const last = state.operations.at(-1);
    assert.ok(last);
    last.result = { state: result, ...(message === undefined ? {} : { message }) };
    return [last.id, last.nodeName, (last.offer as JsonObject)["kind"]];
  }
  return { state, time, call, heard, end };
}

Deno.test("POST restore: the others off, the restore, then one server after the other", async () => {
  const { state, time, call, heard, end } = threeServers();
  assert.deepEqual((await call()).body.nodes, ["demo-2", "demo-3"]);
  heard(true, false, true);
  const stop = (await call()).body;
  assert.deepEqual([stop.next, stop.nodes], ["stop_others", ["demo-3"]]);
  assert.equal(state.operations.length, 0);
  // Switched off: nothing is heard of it any more.
  time.now += 110_000;
  heard(true, null, null);
  assert.deepEqual((await call()).body, { next: "wait", node: "demo-1", operation: "r1-0-1" });
  assert.deepEqual((await call()).body.next, "wait");
  assert.equal(state.operations.length, 1);
  assert.deepEqual(end("succeeded"), ["r1-0-1", "demo-1", "cluster.restore"]);

  for (const [index, node] of [[1, "demo-2"], [2, "demo-3"]] as const) {
    const start = (await call()).body;
    assert.deepEqual([start.next, start.node], ["start", node]);
    heard(...NAMES.map((name) => name === node ? false : null));
    const operation = `r1-${index}-1`;
    assert.deepEqual((await call()).body, { next: "wait", node, operation });
    assert.deepEqual(end("succeeded"), [operation, node, "server.rejoin"]);
  }
  assert.deepEqual((await call()).body, { next: "done" });
  assert.equal(state.operations.length, 3);
});

Deno.test("POST restore: what failed holds it up until it is tried again", async () => {
  const { time, call, heard, end } = threeServers();
  time.now += 110_000;
  heard(true, null, null);
  await call();
  end("failed", "the snapshot is of another cluster");
  const failed = (await call()).body;
  assert.deepEqual([failed.next, failed.message], ["failed", "the snapshot is of another cluster"]);
  assert.deepEqual((await call({ again: true })).body.operation, "r1-0-2");
  end("succeeded");
  assert.equal((await call()).body.next, "start");
});

Deno.test("POST restore: another first server, unknown ones, and names that are none", async () => {
  const { state, time, call, heard } = threeServers();
  assert.deepEqual((await call({ first: "demo-2" })).body.nodes, ["demo-1", "demo-3"]);
  assert.equal((await call({ first: "demo-9" })).status, 404);
  assert.equal((await call({ id: "a b" })).status, 400);
  time.now += 110_000;
  heard(null, true, null);
  assert.deepEqual((await call({ first: "demo-2" })).body.node, "demo-2");
  assert.equal(state.operations[0]?.nodeName, "demo-2");
});
