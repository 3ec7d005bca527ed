import assert from "node:assert/strict";
import { createFakeClock } from "../../adapters/fake/clock.ts";
import { createFakeK8s } from "../../adapters/fake/k8s.ts";
import { nodeReady } from "../../core/cluster/kubernetes_facts.ts";
import type { ObjectRef } from "../../core/ports/k8s.ts";

const ADDONS: ObjectRef = {
  apiVersion: "apiextensions.k8s.io/v1",
  resource: "customresourcedefinitions",
  name: "addons.k3s.cattle.io",
};
const CHART: ObjectRef = {
  apiVersion: "helm.cattle.io/v1",
  resource: "helmcharts",
  namespace: "kube-system",
  name: "one",
};
const NODE: ObjectRef = { apiVersion: "v1", resource: "nodes", name: "node-1" };

Deno.test("createFakeK8s: k3s's kinds are there once their definitions are", async () => {
  const k8s = createFakeK8s();
  const chart = { apiVersion: "helm.cattle.io/v1", kind: "HelmChart", metadata: { name: "one" } };
  assert.equal((await k8s.apply(CHART, chart)).ok, false);
  k8s.installK3sDefinitions();
  const addons = await k8s.get(ADDONS);
  assert.ok(addons.ok && addons.value !== null);
  const made = await k8s.apply(CHART, { ...chart, spec: { anything: ["goes"] } });
  assert.deepEqual(made.ok && made.value["spec"], { anything: ["goes"] });
});

Deno.test("createFakeK8s: a definition that goes takes its objects along", async () => {
  const k8s = createFakeK8s();
  k8s.installK3sDefinitions();
  const path = "/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts/one";
  const chart = { apiVersion: "helm.cattle.io/v1", kind: "HelmChart", metadata: { name: "one" } };
  k8s.write(path, chart, "test");
  assert.notEqual(k8s.read(path), null);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  assert.equal(k8s.drop(`${definitions}/helmcharts.helm.cattle.io`), true);
  assert.equal(k8s.drop(`${definitions}/helmcharts.helm.cattle.io`), false);
  assert.deepEqual(await k8s.get(CHART), { ok: true, value: null });
  k8s.installK3sDefinitions();
  assert.equal(k8s.read(path), null);
});

Deno.test("createFakeK8s: a Node's condition is what the test says", async () => {
  const k8s = createFakeK8s();
  for (const ready of [false, true]) {
    k8s.setNode("node-1", ready);
    const node = await k8s.get(NODE);
    assert.equal(node.ok && node.value !== null && nodeReady(node.value), ready);
  }
});

Deno.test("createFakeK8s: the times of a Lease need six digits", async () => {
  const k8s = createFakeK8s();
  const apiVersion = "coordination.k8s.io/v1";
  const ref = { apiVersion, resource: "leases", namespace: "default", name: "one" };
  const lease = (renewTime: string) => ({
    apiVersion,
    kind: "Lease",
    metadata: { name: "one" },
    spec: { renewTime },
  });
  const coarse = await k8s.apply(ref, lease("2026-01-01T00:00:00Z"));
  assert.equal(!coarse.ok && coarse.error.code === "refused" && coarse.error.status, 500);
  assert.ok((await k8s.apply(ref, lease("2026-01-01T00:00:00.000000Z"))).ok);
});

Deno.test("createFakeK8s: counts what could have written, and remembers the requests", async () => {
  const k8s = createFakeK8s();
  await k8s.ready();
  await k8s.get(NODE);
  assert.equal(k8s.writes(), 0);
  await k8s.apply(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: "node-1" } });
  await k8s.apply(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: "other" } });
  assert.equal(k8s.writes(), 2);
  assert.deepEqual(
    k8s.requests().map(({ method, path, status }) => `${method} ${path} ${status}`),
    [
      "GET /readyz 200",
      "GET /api/v1/nodes/node-1 404",
      "PATCH /api/v1/nodes/node-1 201",
      "PATCH /api/v1/nodes/node-1 400",
    ],
  );
  k8s.forgetRequests();
  assert.deepEqual([k8s.writes(), k8s.requests().length], [0, 0]);
});

Deno.test("createFakeK8s: while it hangs a call takes its time and then fails", async () => {
  const clock = createFakeClock();
  const k8s = createFakeK8s({ clock });
  k8s.breakWith({ kind: "hang" });
  const calls = Promise.all([k8s.ready(), k8s.get(NODE)]);
  await clock.advance(5_000);
  assert.equal(clock.pending().count, 1, "the look at /readyz must be over, the get not yet");
  await clock.advance(5_000);
  const [ready, found] = await calls;
  assert.deepEqual([ready, !found.ok && found.error.code], [false, "unreachable"]);
});

Deno.test("createFakeK8s: down, refusing and not ready are told apart", async () => {
  const k8s = createFakeK8s();
  k8s.breakWith({ kind: "down" });
  const down = await k8s.get(NODE);
  assert.equal(!down.ok && down.error.code, "unreachable");
  k8s.breakWith({ kind: "status", status: 503, reason: "ServiceUnavailable" });
  const busy = await k8s.get(NODE);
  assert.equal(
    !busy.ok && busy.error.code === "refused" && busy.error.reason,
    "ServiceUnavailable",
  );
  k8s.breakWith(null);
  k8s.setReady(false);
  assert.equal(await k8s.ready(), false);
  assert.deepEqual(await k8s.get(NODE), { ok: true, value: null });
});
