import { isJsonObject, type JsonObject } from "../json.ts";
import type { CollectionRef, K8s, K8sError, Labels, ObjectRef } from "../ports/k8s.ts";
import type { AddonTemplate, HealthCheck } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";
import { ADDON_LABEL, ADDON_NAMESPACE, MANAGED_LABEL } from "./allowed_object.ts";
import { helmChart, watchedBy } from "./health.ts";
import { at, type LiveObject, type LiveView, refKey } from "./live.ts";
import { MANAGED_KINDS } from "./managed_kinds.ts";
import { platformApiOf } from "./platform_api.ts";

const MANAGED: Labels = { [MANAGED_LABEL]: "true" };

/** An add-on as far as the view of the cluster needs it. */
export interface ViewedAddon {
  readonly name: string;
  readonly enabled: boolean;
  readonly template: AddonTemplate | null;
}

/**
 * Reads what the plan is made from: a list per kind, one object per health check of an add-on that is on,
 * and Helm's releases. A kind that cannot be listed is one of which nothing is known, whether the cluster
 * does not serve it yet or refuses the list: that holds up what needs it and nothing else.
 */
export async function readLive(
  k8s: K8s,
  addons: readonly ViewedAddon[],
): Promise<Result<LiveView, K8sError>> {
  const platforms = new Set(addons.map(({ template }) => platformApiOf(template)));
  const kinds = [
    ...MANAGED_KINDS,
    ...[...platforms].flatMap((apiVersion) =>
      apiVersion === null ? [] : [{ apiVersion, resource: "platforms" }]
    ),
  ];
  const managed = new Map<string, LiveObject>();
  const unlisted = new Map<string, string>();
  for (const kind of kinds) {
    const listed = await k8s.list(kind, MANAGED);
    if (!listed.ok && listed.error.code === "unreachable") return listed;
    const why = !listed.ok
      ? `${kind.resource} could not be listed: ${listed.error.message}`
      : listed.value === null
      ? `the cluster does not know ${kind.resource} yet`
      : null;
    if (why !== null) unlisted.set(kind.resource, why);
    for (const object of listed.ok ? listed.value ?? [] : []) {
      const ref = refOf(kind, object);
      if (ref !== null) managed.set(refKey(ref), { ref, object });
    }
  }

  const checks = addons.filter(({ enabled }) => enabled)
    .flatMap(({ template }) => template?.health ?? []);
  const unreadable = new Map<string, string>();
  const watched = await readWatched(k8s, checks, unreadable);
  if (!watched.ok) return watched;
  const helmReleases = await readHelmReleases(k8s, checks, managed, unreadable);
  if (!helmReleases.ok) return helmReleases;
  const applications = isPlatformGoing(addons, managed)
    ? await readApplications(k8s, unlisted.get("platforms") ?? null)
    : ok(NO_APPLICATIONS);
  if (!applications.ok) return applications;
  return ok({
    managed,
    unlisted,
    watched: watched.value,
    unreadable,
    helmReleases: helmReleases.value,
    ...applications.value,
  });
}

/** Whether a Platform add-on that is switched off still has objects. */
function isPlatformGoing(
  addons: readonly ViewedAddon[],
  managed: ReadonlyMap<string, LiveObject>,
): boolean {
  const going = addons.filter(({ enabled, template }) =>
    !enabled && template?.removal === "platform"
  ).map(({ name }) => name);
  return [...managed.values()].some(({ object }) =>
    going.some((name) => at(object, "metadata", "labels", ADDON_LABEL) === name)
  );
}

function refOf(kind: CollectionRef, object: JsonObject): ObjectRef | null {
  const name = at(object, "metadata", "name");
  return typeof name === "string" ? { ...kind, name } : null;
}

async function readWatched(
  k8s: K8s,
  checks: readonly HealthCheck[],
  unreadable: Map<string, string>,
): Promise<Result<ReadonlyMap<string, JsonObject | null>, K8sError>> {
  const watched = new Map<string, JsonObject | null>();
  for (const ref of checks.flatMap(watchedBy)) {
    if (watched.has(refKey(ref))) continue;
    const object = await k8s.get(ref);
    // What the API refuses, perhaps for ever, must not blind the agent to the rest.
    if (!object.ok && object.error.code === "unreachable") return fail(object.error);
    if (!object.ok) unreadable.set(refKey(ref), object.error.message);
    watched.set(refKey(ref), object.ok ? object.value : null);
  }
  return ok(watched);
}

/** Helm keeps each revision of a release in a Secret; the newest one's labels tell its state. */
async function readHelmReleases(
  k8s: K8s,
  checks: readonly HealthCheck[],
  managed: ReadonlyMap<string, LiveObject>,
  unreadable: Map<string, string>,
): Promise<Result<ReadonlyMap<string, JsonObject>, K8sError>> {
  const releases = new Map<string, JsonObject>();
  for (const check of checks) {
    if (!("helmchart" in check)) continue;
    const { name } = check.helmchart;
    const chart = refKey(helmChart(name));
    const target = at(managed.get(chart)?.object, "spec", "targetNamespace");
    const namespace = typeof target === "string" ? target : ADDON_NAMESPACE;
    const listed = await k8s.list(
      { apiVersion: "v1", resource: "secrets", namespace },
      { owner: "helm", name },
    );
    if (!listed.ok && listed.error.code === "unreachable") return fail(listed.error);
    if (!listed.ok) unreadable.set(chart, listed.error.message);
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

const DEFINITIONS: CollectionRef = {
  apiVersion: "apiextensions.k8s.io/v1",
  resource: "customresourcedefinitions",
};

/** What the Platform's removal has to know of the cluster. */
type Applications = Pick<LiveView, "applications" | "applicationsUnread">;

const NO_APPLICATIONS: Applications = { applications: [], applicationsUnread: null };

/**
 * The SaaSApplications of every group that defines such a kind: which one does is not the agent's to know,
 * and to overlook one would take the Platform from under it. A kind that is defined and cannot be listed,
 * as when the API has just come up, is therefore not one without objects.
 *
 * @param noPlatforms why the Platforms could not be listed; null where they were
 */
async function readApplications(
  k8s: K8s,
  noPlatforms: string | null,
): Promise<Result<Applications, K8sError>> {
  const unread = (why: string) => ok({ applications: [], applicationsUnread: why });
  const definitions = await k8s.list(DEFINITIONS);
  if (!definitions.ok && definitions.error.code === "unreachable") return definitions;
  if (!definitions.ok) return unread(`the kinds could not be listed: ${definitions.error.message}`);
  if (definitions.value === null) return unread("the cluster does not tell which kinds it has yet");
  const found: string[] = [];
  for (const definition of definitions.value) {
    const kind = at(definition, "spec", "names", "kind");
    if (kind === "Platform" && noPlatforms !== null) return unread(noPlatforms);
    const ref = kind === "SaaSApplication" ? collectionOf(definition) : null;
    if (ref === null) continue;
    const listed = await k8s.list(ref);
    if (!listed.ok && listed.error.code === "unreachable") return listed;
    const name = `${ref.resource} of ${ref.apiVersion}`;
    if (!listed.ok) return unread(`${name} could not be listed: ${listed.error.message}`);
    if (listed.value === null) return unread(`the cluster does not serve ${name} yet`);
    for (const application of listed.value) {
      const name = at(application, "metadata", "name");
      const namespace = at(application, "metadata", "namespace");
      found.push(typeof namespace === "string" ? `${namespace}/${name}` : String(name));
    }
  }
  return ok({ applications: found, applicationsUnread: null });
}

/** The objects that a definition defines, in the first version that is served. */
function collectionOf(definition: JsonObject): CollectionRef | null {
  const versions = at(definition, "spec", "versions");
  const served = Array.isArray(versions)
    ? versions.find((version) => at(version, "served") === true)
    : undefined;
  const [group, plural] = [
    at(definition, "spec", "group"),
    at(definition, "spec", "names", "plural"),
  ];
  const version = at(served, "name");
  if (typeof plural !== "string" || typeof version !== "string") return null;
  return { apiVersion: `${group}/${version}`, resource: plural };
}
