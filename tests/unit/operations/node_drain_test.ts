import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { drainPod, podKey, podsOfNode } from "../../../core/operations/drain/pods.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import type { K8sError, ObjectRef } from "../../../core/ports/k8s.ts";
import { fail, ok } from "../../../core/result.ts";
import { nodeDrain } from "../../../core/operations/node_drain.ts";
import { cutMatrix } from "./cut_matrix.ts";
import { createMachine, type Machine } from "./machine.ts";
import {
  isCordoned,
  podNames,
  type PodOptions,
  putBudget,
  putPod,
  runKubelets,
  withServers,
} from "./servers.ts";
import { logOf, runToy, startToy } from "./toy.ts";

const NODE = "gone-1";

/** A cluster of three whose node `gone-1` has Pods. */
function withPods(pods: Readonly<Record<string, PodOptions>>): Machine {
  const machine = withServers(createMachine());
  machine.k8s.setNode(NODE, true);
  for (const [name, options] of Object.entries(pods)) putPod(machine, name, options);
  return machine;
}

function drained(machine: Machine, params: JsonObject = {}) {
  return runToy(machine, nodeDrain, { node: NODE, ...params });
}

Deno.test("node.drain: what can go goes, and what belongs to the node or would be lost stays", async () => {
  const machine = withPods({
    web: {},
    job: { owner: "Job" },
    over: { owner: null, phase: "Succeeded", emptyDir: true },
    agent: { owner: "DaemonSet" },
    static: { owner: "Node", mirror: true },
    cache: { emptyDir: true },
    alone: { owner: null },
    elsewhere: { node: "demo-1" },
  });
  runKubelets(machine);
  const journal = await drained(machine);
  assert.deepEqual(journal.result, {
    state: "succeeded",
    output: { evicted: 4, remaining: ["default/cache"] },
  });
  assert.deepEqual(podNames(machine), ["agent", "cache", "elsewhere", "static"]);
  assert.equal(isCordoned(machine), true);
  const { message } =
    journal.events.find((event) => event.step === "evict" && event.state === "succeeded") ?? {};
  assert.match(message ?? "", /4 Pods are gone.*cache \(its emptyDir/);
});

Deno.test("node.drain: with delete_emptydir Pods that have one go too", async () => {
  const machine = withPods({ cache: { emptyDir: true } });
  runKubelets(machine);
  const { result } = await drained(machine, { delete_emptydir: true });
  assert.deepEqual(result?.output, { evicted: 1, remaining: [] });
});

Deno.test("node.drain: a node without such Pods is drained at once", async () => {
  const { result } = await drained(withPods({}));
  assert.deepEqual(result, { state: "succeeded", output: { evicted: 0, remaining: [] } });
});

Deno.test("node.drain: a budget is waited for, and used when it allows", async () => {
  const labels = { app: "guarded" };
  const machine = withPods({ "web-1": { labels }, "web-2": { labels } });
  putBudget(machine, 0);
  runKubelets(machine);
  void machine.clock.sleep(60_000).then(() => putBudget(machine, 1));
  void machine.clock.sleep(120_000).then(() => putBudget(machine, 1));
  const journal = await drained(machine);
  assert.deepEqual(journal.result?.output, { evicted: 2, remaining: [] });
  const refusals = machine.k8s.requests().filter(({ status }) => status === 429).length;
  assert.ok(refusals > 20 && refusals < 60, `${refusals} refusals`);
  assert.match(logOf(machine), /web-1 stays: its budget does not allow it/);
  const steps = journal.events.flatMap(({ progress }) => progress === undefined ? [] : [progress]);
  assert.deepEqual(steps[0], { done: 0, total: 2, unit: "items" });
  assert.ok(steps.some(({ done }) => done === 1), JSON.stringify(steps));
});

Deno.test("node.drain: at its deadline it fails, says what remains, and takes back its cordon", async () => {
  const machine = withPods({
    web: {},
    guarded: { labels: { app: "guarded" } },
    cache: { emptyDir: true },
  });
  putBudget(machine, 0);
  runKubelets(machine);
  const began = machine.clock.now();
  const { result } = await drained(machine, { timeout_s: 60 });
  assert.deepEqual([result?.state, result?.step, result?.code], ["failed", "evict", "timeout"]);
  assert.deepEqual(result?.output, { evicted: 1, remaining: ["default/cache", "default/guarded"] });
  assert.match(
    result?.message ?? "",
    /within 60 s: 1 Pod is gone.*guarded \(its budget does not allow it.*takes new Pods again/,
  );
  assert.equal(machine.clock.now() - began, 60_000);
  assert.equal(isCordoned(machine), false);
  assert.equal(machine.k8s.read(`/api/v1/nodes/${NODE}`)?.["annotations"], undefined);
});

Deno.test("node.drain: a clock that is set shortens and lengthens nothing", async () => {
  for (const by of [40 * 86_400_000, -40 * 86_400_000]) {
    const machine = withPods({ web: {}, guarded: { labels: { app: "guarded" } } });
    putBudget(machine, 0);
    runKubelets(machine);
    const { get } = machine.ports.k8s;
    let isSet = false;
    Object.assign(machine.ports.k8s, {
      get(...call: Parameters<typeof get>) {
        if (!isSet) machine.clock.setWallClock(machine.clock.now() + by);
        isSet = true;
        return get(...call);
      },
    });
    const began = machine.clock.monotonic();
    const { result } = await drained(machine, { timeout_s: 60 });
    assert.ok(isSet);
    assert.equal(result?.code, "timeout");
    assert.equal(machine.clock.monotonic() - began, 60_000);
  }
});

Deno.test("node.drain: a Pod with two budgets, and one whose kubelet is dead, remain", async () => {
  const machine = withPods({ twice: { labels: { app: "guarded" } }, ghost: {} });
  putBudget(machine, 1);
  putBudget(machine, 1, "second");
  const { result } = await drained(machine, { timeout_s: 30 });
  assert.deepEqual(result?.output, { evicted: 0, remaining: ["default/ghost", "default/twice"] });
  assert.match(
    result?.message ?? "",
    /ghost \(it was evicted and has not ended.*twice \(.*more than one PodDisruptionBudget/,
  );
});

Deno.test("node.drain: what was cordoned before stays so, whatever comes of the drain", async () => {
  for (const manager of ["kubectl", "pbx-agent"]) {
    const machine = withPods({ guarded: { labels: { app: "guarded" } } });
    putBudget(machine, 0);
    machine.k8s.write(`/api/v1/nodes/${NODE}`, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: NODE, annotations: { "pbx.io/cordoned-by": "op-before" } },
      spec: { unschedulable: true },
    }, manager);
    const { result } = await drained(machine, { timeout_s: 10 });
    assert.match(result?.message ?? "", /stays cordoned, as it was before/);
    assert.equal(isCordoned(machine), true);
  }
});

Deno.test("node.drain: a cordon that somebody adds meanwhile stays", async () => {
  const machine = withPods({ guarded: { labels: { app: "guarded" } } });
  putBudget(machine, 0);
  void machine.clock.sleep(5_000).then(() =>
    machine.k8s.write(`/api/v1/nodes/${NODE}`, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: NODE },
      spec: { unschedulable: true },
    }, "kubectl")
  );
  const { result } = await drained(machine, { timeout_s: 20 });
  assert.match(result?.message ?? "", /somebody else cordoned it too/);
  assert.equal(isCordoned(machine), true);
});

Deno.test("node.drain: asked for again, it goes on where the one before stopped", async () => {
  const machine = withPods({ web: {}, guarded: { labels: { app: "guarded" } } });
  putBudget(machine, 0);
  runKubelets(machine);
  assert.equal((await drained(machine, { timeout_s: 10 })).result?.state, "failed");
  const state = JSON.parse(machine.disk.text("/var/lib/pbx-agent/state.json") ?? "");
  machine.disk.put(
    "/var/lib/pbx-agent/state.json",
    JSON.stringify({ ...state, operation: null, finished: {} }),
  );
  putBudget(machine, 1);
  const { result } = await drained(machine);
  assert.deepEqual(result, { state: "succeeded", output: { evicted: 1, remaining: [] } });
});

Deno.test("node.drain: a Node that is not there fails it, and nothing is made", async () => {
  const machine = withPods({});
  const { result } = await drained(machine, { node: "none" });
  assert.deepEqual([result?.state, result?.step, result?.code], ["failed", "cordon", "no_node"]);
  assert.equal(machine.k8s.read("/api/v1/nodes/none"), null);
});

Deno.test("node.drain: an API that is away for a while holds it up, and no longer", async () => {
  const machine = withPods({ web: {} });
  runKubelets(machine);
  void machine.clock.sleep(1_000).then(() => machine.k8s.breakWith({ kind: "down" }));
  void machine.clock.sleep(90_000).then(() => machine.k8s.breakWith(null));
  const { result } = await drained(machine);
  assert.deepEqual(result?.output, { evicted: 1, remaining: [] });
});

Deno.test("node.drain: an agent that does not lead evicts nothing, and says who does", async () => {
  for (const leadsFor of [0, 1_000]) {
    const machine = withPods({ web: {}, guarded: { labels: { app: "guarded" } } });
    putBudget(machine, 0);
    runKubelets(machine);
    machine.k8s.write("/api/v1/namespaces/pbx-system", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "pbx-system" },
    }, "demo-2");
    machine.k8s.write(
      "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader",
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "pbx-agent-leader", namespace: "pbx-system" },
        spec: { holderIdentity: "demo-2" },
      },
      "demo-2",
    );
    const began = machine.clock.now();
    const leads = () => machine.clock.now() < began + leadsFor;
    const { result } = await runToy(machine, nodeDrain, { node: NODE }, leads);
    assert.deepEqual([result?.state, result?.code], ["failed", "not_leader"]);
    assert.match(result?.message ?? "", /\(demo-2 does\): ask the one that leads/);
    if (leadsFor > 0) assert.match(result?.message ?? "", /`kubectl uncordon gone-1`/);
    assert.equal(result?.step, leadsFor === 0 ? "cordon" : "evict");
    assert.equal(isCordoned(machine), leadsFor > 0, "who does not lead takes nothing back either");
    assert.deepEqual(podNames(machine), leadsFor === 0 ? ["guarded", "web"] : ["guarded"]);
    const waited = machine.clock.now() - began;
    assert.ok(waited >= 120_000 && waited < 140_000, `${waited} ms`);
  }
});

Deno.test("node.drain: who comes to lead meanwhile carries it out", async () => {
  const machine = withPods({ web: {} });
  runKubelets(machine);
  const began = machine.clock.now();
  const leads = () => machine.clock.now() > began + 75_000;
  const { result } = await runToy(machine, nodeDrain, { node: NODE }, leads);
  assert.deepEqual(result?.output, { evicted: 1, remaining: [] });
});

Deno.test("node.drain: an agent that is told to end leaves the cordon to the one that goes on", async () => {
  const machine = withPods({ guarded: { labels: { app: "guarded" } } });
  putBudget(machine, 0);
  runKubelets(machine);
  const run = await startToy(machine, nodeDrain, { node: NODE });
  let ended = false;
  void run.done.finally(() => ended = true);
  void machine.clock.sleep(20_000).then(() => run.stop());
  while (!ended && await machine.clock.advanceToNext());
  assert.deepEqual([run.journal().result, run.journal().step], [undefined, "evict"]);
  assert.equal(isCordoned(machine), true);
  putBudget(machine, 1);
  const { result } = await runToy(machine, nodeDrain);
  assert.deepEqual(result?.output, { evicted: 1, remaining: [] });
  assert.equal(isCordoned(machine), true);
});

Deno.test("node.drain: an API that refuses for a moment is asked again", async () => {
  const machine = withPods({ web: {} });
  runKubelets(machine);
  const { k8s } = machine.ports;
  const { get, apply } = k8s;
  const busy = ["get", "apply"];
  const refused = (what: string) =>
    fail<K8sError>({
      code: "refused",
      status: 500,
      reason: "",
      message: `${what}: 500: etcdserver: leader changed`,
    });
  Object.assign(k8s, {
    get: (ref: ObjectRef) =>
      ref.resource === "nodes" && busy[0] === "get" ? refused(String(busy.shift())) : get(ref),
    apply: (ref: ObjectRef, object: JsonObject) =>
      busy[0] === "apply" ? refused(String(busy.shift())) : apply(ref, object),
  });
  const { result } = await drained(machine);
  assert.deepEqual(result?.output, { evicted: 1, remaining: [] });
  assert.deepEqual(busy, []);
});

Deno.test("node.drain: a node whose Pods nobody tells is not left cordoned", async () => {
  const machine = withPods({ web: {} });
  Object.assign(machine.ports.k8s, {
    list: () =>
      Promise.resolve(
        fail<K8sError>({ code: "refused", status: 500, reason: "", message: "no list" }),
      ),
  });
  const { result } = await drained(machine);
  assert.deepEqual([result?.step, result?.code], ["cordon", "timeout"]);
  assert.match(
    result?.message ?? "",
    /no Pod was evicted: it does not list the node's Pods; Node gone-1 takes new Pods again/,
  );
  assert.equal(isCordoned(machine), false);
});

Deno.test("drainPod: a DaemonSet's Pod stays by its controller, not by any owner", () => {
  const pod = (owner: JsonObject) => ({
    metadata: {
      name: "p",
      namespace: "n",
      uid: "u",
      ownerReferences: [{ kind: "DaemonSet", ...owner }],
    },
  });
  assert.equal(drainPod(pod({ controller: true }), false).fate, "stays");
  assert.equal(drainPod(pod({ controller: false }), false).fate, "goes");
  assert.equal(drainPod(pod({}), false).fate, "stays");
});

Deno.test("podsOfNode: a Pod of another node is none of it, whatever the list has", async () => {
  const pod = (name: string, spec: JsonObject) => ({ metadata: { name, namespace: "n" }, spec });
  const listed = [
    pod("here", { nodeName: NODE }),
    pod("there", { nodeName: "other" }),
    pod("-", {}),
  ];
  const k8s = { list: () => Promise.resolve(ok(listed)) };
  const pods = await podsOfNode({ k8s } as unknown as Ports, NODE, false);
  assert.deepEqual(pods?.map(podKey), ["n/here"]);
});

Deno.test("node.drain: killed at every call, the Pods go once and the Node is left as it should be", async () => {
  // The one that fails has more to undo; the other one by night.
  for (const allowed of Deno.env.get("PBX_LONG") === "1" ? [0, 1] : [0]) {
    const cuts = await cutMatrix({
      setUp() {
        const machine = withPods({ web: {}, guarded: { labels: { app: "guarded" } } });
        putBudget(machine, allowed);
        runKubelets(machine);
        return machine;
      },
      offer: () => ({ id: "op-1", kind: "node.drain", params: { node: NODE, timeout_s: 6 } }),
      mayEnd: [allowed === 1 ? "succeeded" : "failed"],
      assertEnd(machine, { result }) {
        const remaining = allowed === 1 ? [] : ["default/guarded"];
        assert.deepEqual(result.output, { evicted: 1 + allowed, remaining });
        assert.deepEqual(podNames(machine), allowed === 1 ? [] : ["guarded"]);
        assert.equal(isCordoned(machine), allowed === 1);
      },
    });
    assert.ok(cuts > 60, `${cuts} cuts`);
  }
});
