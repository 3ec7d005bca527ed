import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { KubeControls } from "./kube_api.ts";

const HELM = "/apis/helm.cattle.io/v1/namespaces/kube-system/helmcharts";
const JOBS = "/apis/batch/v1/namespaces/kube-system/jobs";
const MANAGER = "helm";

/**
 * Plays k3s's helm-controller for one step (k3s fact F): a HelmChart gets an installing Job first, and a
 * step later the Job is complete and the release deployed; with the chart both go.
 */
export function stepHelm(api: Pick<KubeControls, "read" | "write" | "drop">): void {
  const charts = itemsOf(api.read(HELM));
  for (const chart of charts) install(api, chart);
  const names = new Set(charts.map((chart) => `helm-install-${nameOf(chart)}`));
  for (const job of itemsOf(api.read(JOBS))) {
    const name = nameOf(job);
    if (!name.startsWith("helm-install-") || names.has(name)) continue;
    api.drop(`${JOBS}/${name}`);
    const namespace = at(job, "metadata", "annotations", "target");
    api.drop(releasePath(String(namespace), name.slice("helm-install-".length)));
  }
}

function install(api: Pick<KubeControls, "read" | "write">, chart: JsonObject): void {
  const name = nameOf(chart);
  const target = String(at(chart, "spec", "targetNamespace") ?? "kube-system");
  const path = `${JOBS}/helm-install-${name}`;
  const spec = JSON.stringify(chart["spec"]);
  const job = api.read(path);
  const isKnown = at(job ?? {}, "metadata", "annotations", "spec") === spec;
  const status = isKnown ? "True" : "False";
  if (isKnown && at(job ?? {}, "metadata", "annotations", "complete") === "True") return;
  api.write(path, {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: `helm-install-${name}`,
      namespace: "kube-system",
      annotations: { spec, target, complete: status },
    },
    spec: {},
    status: { conditions: [{ type: "Complete", status }] },
  }, MANAGER);
  if (!isKnown) return;
  api.write(releasePath(target, name), {
    apiVersion: "v1",
    kind: "Secret",
    type: "helm.sh/release.v1",
    metadata: {
      name: releaseName(name),
      namespace: target,
      labels: { owner: "helm", name, status: "deployed", version: "1" },
    },
  }, MANAGER);
}

function releaseName(chart: string): string {
  return `sh.helm.release.v1.${chart}.v1`;
}

function releasePath(namespace: string, chart: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${releaseName(chart)}`;
}

function itemsOf(list: JsonObject | null): readonly JsonObject[] {
  const items = list?.["items"];
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

function nameOf(object: JsonObject): string {
  return String(at(object, "metadata", "name"));
}

function at(value: JsonValue, ...path: readonly string[]): JsonValue | undefined {
  let here: JsonValue | undefined = value;
  for (const key of path) here = isJsonObject(here) ? here[key] : undefined;
  return here;
}
