import type { ObjectRef } from "../ports/k8s.ts";
import type { HealthCheck } from "../protocol/release.ts";
import { ADDON_NAMESPACE, HELM_API } from "./allowed_object.ts";
import { at, conditionStatus, type LiveView, refKey } from "./live.ts";

/** The plural of a kind as Kubernetes makes it: all that a check names is the kind. */
function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (/(?:s|x|z|ch|sh)$/.test(lower)) return `${lower}es`;
  return /[^aeiou]y$/.test(lower) ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

/** The objects that a check has to see. */
export function watchedBy(check: HealthCheck): readonly ObjectRef[] {
  if ("deployment" in check) {
    return [{ apiVersion: "apps/v1", resource: "deployments", ...check.deployment }];
  }
  if ("daemonset" in check) {
    return [{ apiVersion: "apps/v1", resource: "daemonsets", ...check.daemonset }];
  }
  if ("helmchart" in check) return [installJob(check.helmchart.name)];
  const { apiVersion, kind, namespace, name } = check.condition;
  return [{
    apiVersion,
    resource: pluralOf(kind),
    ...(namespace === undefined ? {} : { namespace }),
    name,
  }];
}

/** The HelmChart that a check names. */
export function helmChart(name: string): ObjectRef {
  return { apiVersion: HELM_API, resource: "helmcharts", namespace: ADDON_NAMESPACE, name };
}

/** k3s installs a chart by this Job (k3s fact F). */
function installJob(chart: string): ObjectRef {
  return {
    apiVersion: "batch/v1",
    resource: "jobs",
    namespace: ADDON_NAMESPACE,
    name: `helm-install-${chart}`,
  };
}

/** What a check still waits for, for people; null where it passes. */
export function unhealthy(check: HealthCheck, live: LiveView): string | null {
  const [ref] = watchedBy(check);
  const refused = ref === undefined ? undefined : live.unreadable.get(refKey(ref));
  if (refused !== undefined) return `its health could not be read: ${refused}`;
  const object = ref === undefined ? null : live.watched.get(refKey(ref)) ?? null;
  if ("helmchart" in check) return helmUnhealthy(check.helmchart.name, live);
  if ("deployment" in check) {
    const { namespace, name } = check.deployment;
    if (object === null) return `Deployment ${namespace}/${name} is not there yet`;
    const available = conditionStatus(object, "Available") === "True" && isObserved(object);
    return available ? null : `Deployment ${namespace}/${name} is not available yet`;
  }
  if ("daemonset" in check) {
    const { namespace, name } = check.daemonset;
    if (object === null) return `DaemonSet ${namespace}/${name} is not there yet`;
    const wanted = at(object, "status", "desiredNumberScheduled");
    const ready = at(object, "status", "numberAvailable") ?? 0;
    const done = typeof wanted === "number" && ready === wanted && isObserved(object);
    return done ? null : `DaemonSet ${namespace}/${name} has ${ready} of ${wanted ?? "?"} pods`;
  }
  const { kind, name, type } = check.condition;
  if (object === null) return `${kind} ${name} is not there yet`;
  return conditionStatus(object, type) === "True" ? null : `${kind} ${name} is not ${type} yet`;
}

/** A chart has no condition that says success: the Job and the release together do (k3s fact F). */
function helmUnhealthy(chart: string, live: LiveView): string | null {
  const job = live.watched.get(refKey(installJob(chart))) ?? null;
  if (job === null || conditionStatus(job, "Complete") !== "True") {
    const failed = job !== null && conditionStatus(job, "Failed") === "True";
    return failed
      ? `the installation of chart ${chart} failed`
      : `chart ${chart} is being installed`;
  }
  const key = refKey(helmChart(chart));
  const refused = live.unreadable.get(key);
  if (refused !== undefined) return `the release of chart ${chart} could not be read: ${refused}`;
  const object = live.managed.get(key)?.object;
  const namespace = at(object, "spec", "targetNamespace") ?? ADDON_NAMESPACE;
  const release = live.helmReleases.get(`${namespace}/${chart}`);
  if (at(release, "status") === "deployed") return null;
  return `the release of chart ${chart} is ${at(release, "status") ?? "not there yet"}`;
}

/** What the status says is about the spec that is there now. */
function isObserved(object: Parameters<typeof at>[0]): boolean {
  const generation = at(object, "metadata", "generation");
  const observed = at(object, "status", "observedGeneration");
  return generation === undefined || generation === observed;
}
