/**
 * node.drain and node.forget on a real API server: real evictions, and budgets whose controller runs.
 * There is no kubelet: the test says how Pods are, and ends those that are being deleted.
 */
import assert from "node:assert/strict";
import { createNodeClock } from "../../../adapters/node/clock.ts";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createNodeK8s, type NodeK8s } from "../../../adapters/node/k8s.ts";
import type { JsonObject } from "../../../core/json.ts";
import { nodeDrain } from "../../../core/operations/node_drain.ts";
import { nodeForget } from "../../../core/operations/node_forget.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { auditOf } from "../../lab/audit_log.ts";
import { type KubeApi, startKubeApi } from "../../lab/kube_api.ts";
import { type KubeControllers, startKubeControllers } from "../../lab/kube_controllers.ts";
import { waitUntil } from "../../lab/wait_until.ts";
import { createMachine } from "../../unit/operations/machine.ts";
import { withServers } from "../../unit/operations/servers.ts";
import { inCluster, kubeSystemUid } from "../../lab/real_cluster.ts";
import { startToy } from "../../unit/operations/toy.ts";
import { podWorld } from "./pods.ts";

const lab: { api?: KubeApi; controllers?: KubeControllers } = {};
const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";

Deno.test.beforeAll(async () => {
  lab.api = await startKubeApi({ audit: true });
  lab.controllers = await startKubeControllers(lab.api, ["disruption-controller"]);
});

Deno.test.afterAll(async () => {
  await lab.controllers?.stop();
  await lab.api?.stop();
});

/** A client under a name of its own, so that the audit log tells who did what. */
async function client(version: string): Promise<NodeK8s> {
  assert.ok(lab.api);
  const disk = createFakeDisk();
  disk.put(KUBECONFIG, await Deno.readTextFile(lab.api.kubeconfig));
  return createNodeK8s({ disk, clock: createNodeClock(), version });
}

/** Runs a whole operation of the agent against the real API, in real time. */
async function operate(
  k8s: NodeK8s,
  definition: AnyDefinition,
  params: JsonObject,
): Promise<Journal> {
  const uid = await kubeSystemUid(k8s);
  assert.ok(uid !== null);
  const made = withServers(createMachine(() => ({ k8s, clock: createNodeClock() })));
  const machine = inCluster(made, uid);
  const run = await startToy(machine, definition, params);
  await run.done;
  return run.journal();
}

/** A test with a namespace, an agent's client and what plays the rest of the cluster. */
function drainTest(
  name: string,
  tell: (at: {
    readonly world: ReturnType<typeof podWorld>;
    readonly agent: NodeK8s;
    readonly other: NodeK8s;
    readonly namespace: string;
    readonly version: string;
  }) => Promise<void>,
): void {
  Deno.test({ name, sanitizeOps: false, sanitizeResources: false }, async () => {
    const id = crypto.randomUUID().slice(0, 8);
    const version = `drain-${id}`;
    const [agent, other] = [await client(version), await client(`test-${id}`)];
    try {
      const ref = { apiVersion: "v1", resource: "namespaces", name: version };
      const object = { apiVersion: "v1", kind: "Namespace", metadata: { name: version } };
      assert.ok((await other.create(ref, object)).ok);
      // Pods are refused before the controller has made it.
      await waitUntil("the namespace's ServiceAccount", async () => {
        const account = { apiVersion: "v1", resource: "serviceaccounts", namespace: version };
        const found = await other.get({ ...account, name: "default" });
        return found.ok && found.value !== null || undefined;
      }, { timeoutMs: 30_000 });
      assert.ok(lab.api);
      const world = podWorld(lab.api, other, version);
      await tell({ world, agent, other, namespace: version, version });
    } finally {
      agent.close();
      other.close();
    }
  });
}

/** Whether a Node takes no new Pods, asked by another client. */
async function isCordoned(k8s: NodeK8s, name: string): Promise<boolean> {
  const node = await k8s.get({ apiVersion: "v1", resource: "nodes", name });
  assert.ok(node.ok && node.value !== null);
  return (node.value["spec"] as JsonObject | undefined)?.["unschedulable"] === true;
}

drainTest(
  "node.drain: a budget that blocks is answered 429 and waited for, until another Pod is up",
  async ({ world, agent, other, namespace, version }) => {
    const node = `${namespace}-a`;
    await world.putNode(node);
    await world.putPod("guarded-1", { node, app: "guarded" });
    await world.putPod("guarded-2", { node, app: "guarded" });
    await world.putPod("daemon", { node, owner: "DaemonSet" });
    await world.putPod("static", { node, owner: "Node", mirror: true });
    await world.putPod("cache", { node, emptyDir: true });
    await world.putPod("alone", { node, owner: null });
    await world.putPod("elsewhere", { node: `${namespace}-b`, app: "other" });
    await world.putBudget("guarded", 1);
    await waitUntil("the budget's controller", async () => {
      return await world.allowed("guarded") === 1 || undefined;
    }, { timeoutMs: 30_000 });

    const endKubelets = world.runKubelets();
    const draining = operate(agent, nodeDrain, { node, timeout_s: 120 });
    // One went; the other may not, however often it is asked for.
    await waitUntil("two refusals of the budget", async () => {
      const entries = await auditOf(lab.api as KubeApi, `pbx-agent/${version}`);
      return entries.filter(({ code }) => code === 429).length >= 2 || undefined;
    }, { timeoutMs: 60_000, everyMs: 250 });
    assert.equal(await world.allowed("guarded"), 0);
    assert.equal(await isCordoned(other, node), true);
    await world.putPod("guarded-3", { node: `${namespace}-b`, app: "guarded" });
    const { result } = await draining;
    await endKubelets();

    assert.deepEqual(result, {
      state: "succeeded",
      output: { evicted: 3, remaining: [`${namespace}/cache`] },
    });
    const left = await other.list({ apiVersion: "v1", resource: "pods", namespace });
    assert.ok(left.ok);
    const names = (left.value ?? []).map((pod) => (pod["metadata"] as JsonObject)["name"]);
    const stay = ["cache", "daemon", "elsewhere", "guarded-3", "static"];
    assert.deepEqual(names.sort(), stay);
    assert.equal(await isCordoned(other, node), true, "a drained Node stays cordoned");
    const entries = await auditOf(lab.api as KubeApi, `pbx-agent/${version}`);
    const writes = entries.filter(({ verb }) => !["get", "list"].includes(verb));
    const ways = new Set(
      writes.map(({ verb, uri }) => `${verb} ${uri.replace(/\?.*/, "").split("/").at(-1)}`),
    );
    assert.deepEqual([...ways].sort(), ["create eviction", `patch ${node}`], "evictions alone");
  },
);

drainTest(
  "node.drain: a budget that never allows it ends at the deadline, and the Node takes Pods again",
  async ({ world, agent, other, namespace }) => {
    const node = `${namespace}-a`;
    await world.putNode(node);
    await world.putPod("guarded-1", { node, app: "guarded" });
    await world.putPod("web", { node });
    await world.putBudget("guarded", 1);
    await waitUntil("the budget's controller", async () => {
      return await world.allowed("guarded") === 0 || undefined;
    }, { timeoutMs: 30_000 });
    const endKubelets = world.runKubelets();
    const { result } = await operate(agent, nodeDrain, { node, timeout_s: 8 });
    await endKubelets();
    assert.deepEqual([result?.state, result?.step, result?.code], ["failed", "evict", "timeout"]);
    assert.deepEqual(result?.output, { evicted: 1, remaining: [`${namespace}/guarded-1`] });
    assert.match(result?.message ?? "", /guarded-1 \(its budget does not allow it/);
    assert.equal(await isCordoned(other, node), false);
  },
);

drainTest(
  "node.forget: a Node whose kubelet is silent goes, one that renews its Lease stays",
  async ({ world, agent, other, namespace }) => {
    const [gone, alive] = [`${namespace}-a`, `${namespace}-b`];
    const lease = { apiVersion: "coordination.k8s.io/v1", resource: "leases" };
    const renew = async (name: string) => {
      const renewTime = new Date().toISOString().replace("Z", "000Z");
      const applied = await other.apply({ ...lease, namespace: "kube-node-lease", name }, {
        apiVersion: lease.apiVersion,
        kind: "Lease",
        metadata: { name, namespace: "kube-node-lease" },
        spec: { holderIdentity: name, renewTime },
      });
      assert.ok(applied.ok, JSON.stringify(applied));
    };
    await waitUntil("the namespace of the Leases", async () => {
      const name = "kube-node-lease";
      const found = await other.get({ apiVersion: "v1", resource: "namespaces", name });
      return found.ok && found.value !== null || undefined;
    }, { timeoutMs: 30_000 });
    for (const name of [gone, alive]) {
      await world.putNode(name);
      await renew(name);
    }
    const timer = setInterval(() => void renew(alive), 5_000);
    try {
      const [first, second] = await Promise.all([
        operate(agent, nodeForget, { node: gone }),
        operate(agent, nodeForget, { node: alive }),
      ]);
      assert.deepEqual(first.result, { state: "succeeded", output: { existed: true } });
      assert.equal(second.result?.code, "node_alive");
    } finally {
      clearInterval(timer);
    }
    const node = (name: string) => other.get({ apiVersion: "v1", resource: "nodes", name });
    const [a, b] = [await node(gone), await node(alive)];
    assert.ok(a.ok && a.value === null && b.ok && b.value !== null);
  },
);
