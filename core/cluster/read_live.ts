import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { CollectionRef, K8s, K8sError, Labels, ObjectRef } from "../ports/k8s.ts";
import type { AddonTemplate, HealthCheck } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";
import { ADDON_NAMESPACE, MANAGED_LABEL, PLATFORM_API } from "./allowed_object.ts";
import { watchedBy } from "./health.ts";
import { at, type LiveObject, type LiveView, refKey } from "./live.ts";

const MANAGED: Labels = { [MANAGED_LABEL]: "true" };
const HELM_API = "helm.cattle.io/v1";

/** The kinds that every add-on may have, as lists of kube-system. */
const MANAGED_KINDS: readonly CollectionRef[] = [
  { apiVersion: HELM_API, resource: "helmcharts", namespace: ADDON_NAMESPACE },
  { apiVersion: HELM_API, resource: "helmchartconfigs", namespace: ADDON_NAMESPACE },
  { apiVersion: "v1", resource: "secrets", namespace: ADDON_NAMESPACE },
];

/** An add-on as far as the view of the cluster needs it. */
export interface ViewedAddon {
  readonly enabled: boolean;
  readonly template: AddonTemplate | null;
}

/**
 * Reads what the plan is made from: a list per kind, one object per health check of an add-on that is on,
 * and Helm's releases. A kind that the cluster does not know yet simply has no objects.
 */
export async function readLive(
  k8s: K8s,
  addons: readonly ViewedAddon[],
): Promise<Result<LiveView, K8sError>> {
  const platform = platformApi(addons);
  const kinds = platform === null
    ? MANAGED_KINDS
    : [...MANAGED_KINDS, { apiVersion: platform, resource: "platforms" }];
  const managed = new Map<string, LiveObject>();
  for (const kind of kinds) {
    const listed = await k8s.list(kind, MANAGED);
    if (!listed.ok) return listed;
    for (const object of listed.value ?? []) {
      const ref = refOf(kind, object);
      if (ref !== null) managed.set(refKey(ref), { ref, object });
    }
  }

  const checks = addons.filter(({ enabled }) => enabled)
    .flatMap(({ template }) => template?.health ?? []);
  const watched = await readWatched(k8s, checks);
  if (!watched.ok) return watched;
  const helmReleases = await readHelmReleases(k8s, checks, managed);
  if (!helmReleases.ok) return helmReleases;
  const applications = platform === null ? ok(null) : await readApplications(k8s, platform);
  if (!applications.ok) return applications;
  return ok({
    managed,
    watched: watched.value,
    helmReleases: helmReleases.value,
    applications: applications.value,
  });
}

/** The API of the Platform, as the template that makes one names it; null where none does. */
function platformApi(addons: readonly ViewedAddon[]): string | null {
  for (const { template } of addons) {
    if (template?.removal !== "platform") continue;
    const objects: JsonValue = template.objects as JsonValue;
    if (!Array.isArray(objects)) continue;
    const found = objects.find((object) => at(object, "kind") === "Platform");
    const apiVersion = at(found, "apiVersion");
    if (typeof apiVersion === "string" && PLATFORM_API.test(apiVersion)) return apiVersion;
  }
  return null;
}

function refOf(kind: CollectionRef, object: JsonObject): ObjectRef | null {
  const name = at(object, "metadata", "name");
  return typeof name === "string" ? { ...kind, name } : null;
}

async function readWatched(
  k8s: K8s,
  checks: readonly HealthCheck[],
): Promise<Result<ReadonlyMap<string, JsonObject | null>, K8sError>> {
  const watched = new Map<string, JsonObject | null>();
  for (const ref of checks.flatMap(watchedBy)) {
    if (watched.has(refKey(ref))) continue;
    const object = await k8s.get(ref);
    // A name that the API refuses will never be healthy; it must not blind the agent to the rest.
    if (!object.ok && object.error.code === "unreachable") return fail(object.error);
    watched.set(refKey(ref), object.ok ? object.value : null);
  }
  return ok(watched);
}

/** Helm keeps each revision of a release in a Secret; the newest one's labels tell its state. */
async function readHelmReleases(
  k8s: K8s,
  checks: readonly HealthCheck[],
  managed: ReadonlyMap<string, LiveObject>,
): Promise<Result<ReadonlyMap<string, JsonObject>, K8sError>> {
  const releases = new Map<string, JsonObject>();
  for (const check of checks) {
    if (!("helmchart" in check)) continue;
    const { name } = check.helmchart;
    const chart = managed.get(
      refKey({ apiVersion: HELM_API, resource: "helmcharts", namespace: ADDON_NAMESPACE, name }),
    );
    const target = at(chart?.object, "spec", "targetNamespace");
    const namespace = typeof target === "string" ? target : ADDON_NAMESPACE;
    const listed = await k8s.list(
      { apiVersion: "v1", resource: "secrets", namespace },
      { owner: "helm", name },
    );
    if (!listed.ok && listed.error.code === "unreachable") return fail(listed.error);
    const newest = newestRelease(listed.ok ? listed.value ?? [] : []);
    if (newest !== null) releases.set(`${namespace}/${name}`, newest);
  }
  return ok(releases);
}

function newestRelease(secrets: readonly JsonObject[]): JsonObject | null {
  let newest: { readonly version: number; readonly labels: JsonObject } | null = null;
  for (const secret of secrets) {
    if (secret["type"] !== undefined && secret["type"] !== "helm.sh/release.v1") continue;
    const labels = at(secret, "metadata", "labels");
    const version = Number(at(labels, "version"));
    if (!isJsonObject(labels) || !Number.isInteger(version)) continue;
    if (newest === null || version > newest.version) newest = { version, labels };
  }
  return newest?.labels ?? null;
}

async function readApplications(
  k8s: K8s,
  apiVersion: string,
): Promise<Result<readonly string[] | null, K8sError>> {
  const listed = await k8s.list({ apiVersion, resource: "saasapplications" });
  if (!listed.ok) return listed;
  if (listed.value === null) return ok(null);
  return ok(listed.value.flatMap((application) => {
    const name = at(application, "metadata", "name");
    const namespace = at(application, "metadata", "namespace");
    if (typeof name !== "string") return [];
    return [typeof namespace === "string" ? `${namespace}/${name}` : name];
  }));
}
