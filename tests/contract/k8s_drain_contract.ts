import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";
import { type K8sWorld, metadata, refused, value } from "./k8s_contract.ts";

/** What every {@link K8sWorld} does for a drain: Pods of one node, evictions, Nodes without new Pods. */
export function k8sDrainContract(name: string, open: () => Promise<K8sWorld>): void {
  const test = (what: string, run: (world: K8sWorld) => Promise<void>) =>
    Deno.test(`k8s (${name}): ${what}`, async () => {
      const world = await open();
      try {
        await run(world);
      } finally {
        await world.close();
      }
    });

  test("list with spec.nodeName gives the Pods of that node", async (world) => {
    await withPod(world);
    const pods = { apiVersion: "v1", resource: "pods", namespace: world.namespace };
    const there = value(await world.k8s.list(pods, {}, { "spec.nodeName": "node-1" }));
    assert.deepEqual(there?.map((pod) => metadata(pod).name), ["pod"]);
    assert.deepEqual(value(await world.k8s.list(pods, {}, { "spec.nodeName": "node-2" })), []);
    for (const value of ["a,b", "a=b", "", "a b"]) {
      const answer = await world.k8s.list(pods, {}, { "spec.nodeName": value });
      assert.equal(refused(answer).status, 400, value);
    }
  });

  test("create of an eviction deletes a Pod with its grace period, that very one alone", async (world) => {
    const pod = await withPod(world);
    const { k8s } = world;
    const other = evictionOf(world, "00000000-0000-4000-8000-ffffffffffff");
    assert.equal(refused(await k8s.create(podRef(world), other, "eviction")).status, 409);
    value(await k8s.create(podRef(world), evictionOf(world, metadata(pod).uid), "eviction"));
    const going = value(await k8s.get(podRef(world)));
    assert.ok(going !== null, "it goes when its kubelet says so");
    assert.notEqual((going["metadata"] as JsonObject)["deletionTimestamp"], undefined);
    const gone = podRef(world, "none");
    const eviction = {
      ...evictionOf(world),
      metadata: { name: "none", namespace: world.namespace },
    };
    assert.equal(refused(await k8s.create(gone, eviction, "eviction")).status, 404);
  });

  test("create of an eviction is refused with 429 while a budget does not allow it", async (world) => {
    await withPod(world, true);
    const answer = await world.k8s.create(podRef(world), evictionOf(world), "eviction");
    assert.deepEqual(refused(answer), { status: 429, reason: "TooManyRequests" });
    const pod = value(await world.k8s.get(podRef(world)));
    assert.equal((pod?.["metadata"] as JsonObject)["deletionTimestamp"], undefined);
  });

  test("apply makes a Node unschedulable, and lets it go again with the field alone", async (world) => {
    const { k8s } = world;
    const name = `node-${world.namespace}`;
    const ref = { apiVersion: "v1", resource: "nodes", name };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name } };
    await world.writeAs("k3s", ref, { ...node, spec: { podCIDR: "10.42.0.0/24" } });
    const made = value(await k8s.get(ref)) ?? {};
    const mine = { ...node, metadata: { name, uid: metadata(made).uid } };
    const annotations = { "pbx.io/cordoned-by": "op-1" };
    const cordon = {
      ...mine,
      metadata: { ...mine.metadata, annotations },
      spec: { unschedulable: true },
    };
    const spec = (object: JsonObject) => object["spec"] as JsonObject;
    assert.equal(spec(value(await k8s.apply(ref, cordon)))["unschedulable"], true);
    const after = value(await k8s.apply(ref, mine));
    assert.equal(spec(after)["unschedulable"], undefined);
    assert.equal(spec(after)["podCIDR"], "10.42.0.0/24");
    assert.equal((after["metadata"] as JsonObject)["annotations"], undefined);
    const other = { name, uid: "00000000-0000-4000-8000-ffffffffffff" };
    assert.equal(refused(await k8s.apply(ref, { ...cordon, metadata: other })).status, 422);
    value(await k8s.remove(ref));
  });
}

function podRef({ namespace }: K8sWorld, name = "pod"): ObjectRef {
  return { apiVersion: "v1", resource: "pods", namespace, name };
}

function evictionOf({ namespace }: K8sWorld, uid?: string): JsonObject {
  return {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "pod", namespace },
    ...(uid === undefined ? {} : { deleteOptions: { preconditions: { uid } } }),
  };
}

/** A running Pod on a node that has no kubelet, and a budget that allows nothing where it is asked for. */
async function withPod(world: K8sWorld, isGuarded = false): Promise<JsonObject> {
  const { namespace } = world;
  const account = { apiVersion: "v1", resource: "serviceaccounts", namespace, name: "default" };
  // Pods are refused in a namespace without it, which a controller makes.
  const metadata = { name: "default", namespace };
  await world.k8s.apply(account, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  const pod = value(
    await world.k8s.create(podRef(world), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "pod", namespace, labels: { app: "guarded" } },
      spec: { nodeName: "node-1", containers: [{ name: "c", image: "none" }] },
    }),
  );
  await world.setStatus(podRef(world), { phase: "Running" });
  if (!isGuarded) return pod;
  const budget = {
    apiVersion: "policy/v1",
    resource: "poddisruptionbudgets",
    namespace,
    name: "budget",
  };
  value(
    await world.k8s.create(budget, {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: { name: "budget", namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } },
    }),
  );
  return pod;
}
