import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ObjectRef } from "../ports/k8s.ts";

/** What the cluster shows of the objects that add-ons may have, and of what their health rests on. */
export interface LiveView {
  /** Objects with the agent's label by {@link refKey}, the agent's own Secrets for clusters left out. */
  readonly managed: ReadonlyMap<string, LiveObject>;
  /** What health checks asked for, by {@link refKey}; null where there is none. */
  readonly watched: ReadonlyMap<string, JsonObject | null>;
  /**
   * Why what a health check rests on could not be read, by {@link refKey}: the API refused that alone. The
   * rest is known all the same.
   */
  readonly unreadable: ReadonlyMap<string, string>;
  /** The newest Helm release's Secret labels by `<namespace>/<chart>`; what is absent has no release. */
  readonly helmReleases: ReadonlyMap<string, JsonObject>;
  /** Resources that add-ons may have and that could not be listed, with the reason: what exists is not known. */
  readonly unlisted: ReadonlyMap<string, string>;
  /** The SaaSApplications, which hold the Platform; read only where it is to be removed. */
  readonly applications: readonly string[];
  /** Why it is not known which applications and Platforms exist; null where it is. */
  readonly applicationsUnread: string | null;
}

/** A live object and its name in the API. */
export interface LiveObject {
  readonly ref: ObjectRef;
  readonly object: JsonObject;
}

/** One text for one object. The API's version does not count: the same object may be read by several. */
export function refKey({ resource, namespace, name }: ObjectRef): string {
  return `${resource}/${namespace ?? ""}/${name}`;
}

/** The value at a path of an object; undefined where a step is missing. */
export function at(
  value: JsonValue | undefined,
  ...path: readonly string[]
): JsonValue | undefined {
  let here = value;
  for (const key of path) here = isJsonObject(here) ? here[key] : undefined;
  return here;
}

/** Whether somebody asked for the object's deletion, and it only waits for its finalizers. */
export function isDeleting(object: JsonObject): boolean {
  return at(object, "metadata", "deletionTimestamp") !== undefined;
}

/** A condition's status by its type: `True`, `False`, `Unknown`; null where there is none. */
export function conditionStatus(object: JsonObject, type: string): string | null {
  return condition(object, type)?.status ?? null;
}

/** A condition of an object's status by its type. */
export function condition(
  object: JsonObject,
  type: string,
): { readonly status: string; readonly message: string } | null {
  const conditions = at(object, "status", "conditions");
  if (!Array.isArray(conditions)) return null;
  const found: JsonValue | undefined = conditions.find((one) => at(one, "type") === type);
  const status = at(found, "status");
  const message = at(found, "message");
  if (typeof status !== "string") return null;
  return { status, message: typeof message === "string" ? message : "" };
}
