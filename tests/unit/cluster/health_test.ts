import assert from "node:assert/strict";
import { unhealthy, watchedBy } from "../../../core/cluster/health.ts";
import { type LiveView, refKey } from "../../../core/cluster/live.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { HealthCheck } from "../../../core/protocol/release.ts";
import { chart } from "./addon_world.ts";

/** The cluster as a check sees it: the one object that it watches, and the release of its chart. */
function view(
  check: HealthCheck,
  watched: JsonObject | null,
  { release = null, spec = {} }: { release?: JsonObject | null; spec?: JsonObject } = {},
): LiveView {
  const [ref] = watchedBy(check);
  assert.ok(ref);
  const chartRef = {
    apiVersion: "helm.cattle.io/v1",
    resource: "helmcharts",
    namespace: "kube-system",
    name: "web",
  };
  const target = spec["targetNamespace"] ?? "kube-system";
  return {
    managed: new Map([[refKey(chartRef), { ref: chartRef, object: chart("web", spec) }]]),
    watched: new Map([[refKey(ref), watched]]),
    unreadable: new Map(),
    helmReleases: new Map(release === null ? [] : [[`${target}/web`, release]]),
    unlisted: new Map(),
    applications: [],
    applicationsUnread: null,
  };
}

function conditions(...list: readonly (readonly [string, string])[]): JsonObject {
  return { status: { conditions: list.map(([type, status]) => ({ type, status })) } };
}

const WORKLOAD = { namespace: "shop", name: "web" };
const DEPLOYMENT: HealthCheck = { deployment: WORKLOAD };
const DAEMONSET: HealthCheck = { daemonset: WORKLOAD };
const CHART: HealthCheck = { helmchart: { name: "web" } };
const CONDITION: HealthCheck = {
  condition: { apiVersion: "x.example.com/v1", kind: "Policy", name: "main", type: "Synced" },
};

Deno.test("watchedBy: where each check looks", () => {
  const seen = [DEPLOYMENT, DAEMONSET, CHART, CONDITION].flatMap(watchedBy);
  assert.deepEqual(seen, [
    { apiVersion: "apps/v1", resource: "deployments", namespace: "shop", name: "web" },
    { apiVersion: "apps/v1", resource: "daemonsets", namespace: "shop", name: "web" },
    {
      apiVersion: "batch/v1",
      resource: "jobs",
      namespace: "kube-system",
      name: "helm-install-web",
    },
    { apiVersion: "x.example.com/v1", resource: "policies", name: "main" },
  ]);
  const plurals = ["Ingress", "Gateway", "Box", "Batch", "Platform"].map((kind) =>
    watchedBy({ condition: { apiVersion: "v1", kind, name: "x", type: "Ready" } })[0]?.resource
  );
  assert.deepEqual(plurals, ["ingresses", "gateways", "boxes", "batches", "platforms"]);
});

Deno.test("unhealthy: a Deployment is available, and its status is about the present spec", () => {
  const seen = (object: JsonObject | null) => unhealthy(DEPLOYMENT, view(DEPLOYMENT, object));
  assert.equal(seen(conditions(["Available", "True"])), null);
  assert.match(seen(null) ?? "", /Deployment shop\/web is not there yet/);
  assert.match(seen(conditions(["Available", "False"])) ?? "", /not available yet/);
  assert.match(seen({}) ?? "", /not available yet/);
  const old = {
    metadata: { generation: 2 },
    status: { observedGeneration: 1, conditions: [{ type: "Available", status: "True" }] },
  };
  assert.match(seen(old) ?? "", /not available yet/);
  assert.equal(seen({ ...old, metadata: { generation: 1 } }), null);
});

Deno.test("unhealthy: a DaemonSet has a pod on every node that it wants", () => {
  const seen = (status: JsonObject | null) =>
    unhealthy(DAEMONSET, view(DAEMONSET, status === null ? null : { status }));
  assert.equal(seen({ desiredNumberScheduled: 3, numberAvailable: 3 }), null);
  assert.equal(seen({ desiredNumberScheduled: 0 }), null);
  assert.match(seen({ desiredNumberScheduled: 3, numberAvailable: 2 }) ?? "", /has 2 of 3 pods/);
  assert.match(seen({ desiredNumberScheduled: 3 }) ?? "", /has 0 of 3 pods/);
  assert.match(seen({}) ?? "", /has 0 of \? pods/);
  assert.match(seen(null) ?? "", /DaemonSet shop\/web is not there yet/);
});

Deno.test("unhealthy: a chart's Job is complete and its newest release is deployed", () => {
  const done = conditions(["Complete", "True"]);
  const seen = (job: JsonObject | null, release: JsonObject | null, spec: JsonObject = {}) =>
    unhealthy(CHART, view(CHART, job, { release, spec }));
  assert.equal(seen(done, { status: "deployed" }), null);
  assert.equal(seen(done, { status: "deployed" }, { targetNamespace: "shop" }), null);
  assert.match(seen(null, { status: "deployed" }) ?? "", /chart web is being installed/);
  assert.match(seen(done, null) ?? "", /release of chart web is not there yet/);
  assert.match(seen(done, { status: "failed" }) ?? "", /release of chart web is failed/);
  assert.match(seen(done, { status: "pending-upgrade" }) ?? "", /is pending-upgrade/);
  const failed = conditions(["Failed", "True"]);
  assert.match(seen(failed, { status: "deployed" }) ?? "", /installation of chart web failed/);
  assert.match(seen(conditions(["Complete", "False"]), null) ?? "", /being installed/);
});

Deno.test("unhealthy: a condition of any object is True", () => {
  const seen = (object: JsonObject | null) => unhealthy(CONDITION, view(CONDITION, object));
  assert.equal(seen(conditions(["Other", "False"], ["Synced", "True"])), null);
  for (const object of [conditions(["Synced", "False"]), conditions(["Synced", "Unknown"]), {}]) {
    assert.equal(seen(object), "Policy main is not Synced yet");
  }
  assert.equal(seen(null), "Policy main is not there yet");
});

Deno.test("unhealthy: what the API refuses to show is told with what it said", () => {
  for (const check of [DEPLOYMENT, DAEMONSET, CHART, CONDITION]) {
    const [ref] = watchedBy(check);
    assert.ok(ref);
    const live = { ...view(check, null), unreadable: new Map([[refKey(ref), "GET x: 503: busy"]]) };
    assert.equal(unhealthy(check, live), "its health could not be read: GET x: 503: busy");
  }
  const job = conditions(["Complete", "True"]);
  const unreadable = new Map([["helmcharts/kube-system/web", "GET y: 429: too many"]]);
  assert.equal(
    unhealthy(CHART, { ...view(CHART, job), unreadable }),
    "the release of chart web could not be read: GET y: 429: too many",
  );
});
