import { collectionPath, objectPath } from "../../core/cluster/object_path.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8s, K8sError } from "../../core/ports/k8s.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { applied, shown, type Stored } from "../../adapters/fake/kube_apply.ts";

/** What ails the API; null: nothing. `silent`: it takes requests and never answers. */
export type ApiTrouble = "down" | "silent" | "overloaded" | null;

/**
 * The Kubernetes API of one simulated machine: the rules of the fake one as far as the agent can see
 * them, at a fraction of its memory and work. Objects are shared and never changed in place.
 */
export interface SimulatedApi extends K8s {
  /** As k3s has it: down until it has come up. */
  trouble: ApiTrouble;
  /** What ails it beside that. */
  fault: ApiTrouble;
  /** The object at a path; a collection's path gives `{items}`. Null where there is nothing. */
  read(path: string): JsonObject | null;
  /** Puts an object there, as k3s or a controller of it does. */
  write(path: string, object: JsonObject, manager?: string): void;
  drop(path: string): boolean;
}

/** What the API needs from its machine. */
export interface SimulatedApiOptions {
  readonly clock: Clock;
  /** Hears of what the agent changed: the path, and whether it is gone. */
  readonly onChange: (path: string, removed: boolean) => void;
}

interface Held {
  readonly stored: Stored;
  readonly object: JsonObject;
}

const CALL_MS = 10_000;
const READY_MS = 5_000;
const MANAGER = "pbx-agent";
/** Groups whose kinds are there without any definition. */
const BUILT_IN =
  /^\/(?:api\/v1|apis\/(?:apps|batch|rbac\.authorization\.k8s\.io|coordination\.k8s\.io|apiextensions\.k8s\.io|policy)\/)/;
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";

/** An API that is down, without any object. */
export function createSimulatedApi({ clock, onChange }: SimulatedApiOptions): SimulatedApi {
  const objects = new Map<string, Held>();
  /** What collections hold since the last change: an idle agent lists the same few again and again. */
  const lists = new Map<string, readonly JsonObject[]>();
  let revision = 0;
  let tokens = 0;

  const time = () => new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z");

  const isWell = () => api.trouble === null && api.fault === null;

  /** Why a call gets no answer; null where it gets one. */
  async function hindrance(limitMs: number): Promise<K8sError | null> {
    const trouble = api.trouble ?? api.fault;
    if (trouble === null) return null;
    if (trouble === "silent") await clock.sleep(limitMs);
    if (trouble === "overloaded") {
      const message = "429: too many requests";
      return { code: "refused", status: 429, reason: "TooManyRequests", message };
    }
    return { code: "unreachable", message: `the API is ${trouble}` };
  }

  /** Whether the API knows the kind of a path. */
  function isKnown(path: string): boolean {
    if (BUILT_IN.test(path)) return true;
    const [, group, , resource] = /^\/apis\/([^/]+)\/[^/]+\/(namespaces\/[^/]+\/)?([^/]+)/
      .exec(path) ?? [];
    return objects.has(`${DEFINITIONS}${resource}.${group}`);
  }

  function itemsOf(collection: string): readonly JsonObject[] {
    let items = lists.get(collection);
    if (items === undefined) {
      items = [...objects].filter(([at]) => isIn(at, collection)).map(([, { object }]) => object);
      lists.set(collection, items);
    }
    return items;
  }

  function forget(path: string): boolean {
    lists.clear();
    return objects.delete(path);
  }

  function save(path: string, stored: Stored, by: string): JsonObject {
    const resourceVersion = String(++revision);
    const metadata = { ...metadataOf(stored.object), resourceVersion };
    const kept = { ...stored, object: { ...stored.object, metadata } };
    const object = shown(kept);
    lists.clear();
    objects.set(path, { stored: kept, object });
    if (by === MANAGER) onChange(path, false);
    return object;
  }

  function applyTo(
    path: string,
    config: JsonObject,
    manager: string,
  ): Result<JsonObject, K8sError> {
    const there = objects.get(path);
    const before = there?.stored ?? fresh(config);
    const after = applied(before, { config, manager, force: true, time: time() });
    if ("status" in after) {
      return fail(refused(after.status, "Invalid", JSON.stringify(after.body)));
    }
    if (there !== undefined && after === before) return ok(there.object);
    return ok(save(path, after, manager));
  }

  function fresh(config: JsonObject): Stored {
    const { name = "", namespace } = metadataOf(config);
    const metadata = {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: `00000000-0000-4000-8000-${(revision + 1).toString(16).padStart(12, "0")}`,
      creationTimestamp: time(),
    };
    const type = config["kind"] === "Secret" ? { type: "Opaque" } : {};
    const { apiVersion = "", kind = "" } = config;
    return { object: { apiVersion, kind, metadata, ...type }, owners: new Map() };
  }

  const api: SimulatedApi = {
    trouble: "down",
    fault: null,
    async ready() {
      return await hindrance(READY_MS) === null;
    },
    async get(ref) {
      const path = objectPath(ref);
      if (path === null) return fail(noSuchPath(ref.resource));
      const why = isWell() ? null : await hindrance(CALL_MS);
      return why === null ? ok(objects.get(path)?.object ?? null) : fail(why);
    },
    async list(ref, labels = {}) {
      const path = collectionPath(ref);
      if (path === null) return fail(noSuchPath(ref.resource));
      const why = isWell() ? null : await hindrance(CALL_MS);
      if (why !== null) return fail(why);
      if (!isKnown(path)) return ok(null);
      const wanted = Object.entries(labels);
      return ok(
        itemsOf(path).filter((object) => {
          const there = metadataOf(object)["labels"];
          const has = isJsonObject(there) ? there : {};
          return wanted.every(([key, value]) => has[key] === value);
        }),
      );
    },
    async create(ref, object, subresource) {
      const path = objectPath(ref);
      if (path === null) return fail(noSuchPath(ref.resource));
      const why = await hindrance(CALL_MS);
      if (why !== null) return fail(why);
      if (subresource === undefined) {
        if (objects.has(path)) return fail(refused(409, "AlreadyExists", `${path} is there`));
        const made = fresh(object);
        return ok(save(path, { ...made, object: { ...object, ...made.object } }, MANAGER));
      }
      if (!objects.has(path)) return fail(refused(404, "NotFound", `${path} is not there`));
      const spec = object["spec"];
      const seconds = isJsonObject(spec) ? Number(spec["expirationSeconds"]) : 3_600;
      const expirationTimestamp = new Date(clock.now() + seconds * 1000).toISOString();
      return ok({
        ...object,
        status: { token: `token-${++tokens}-in-clear`, expirationTimestamp },
      });
    },
    async remove(ref, preconditions) {
      const path = objectPath(ref);
      if (path === null) return fail(noSuchPath(ref.resource));
      const why = await hindrance(CALL_MS);
      if (why !== null) return fail(why);
      const there = objects.get(path);
      if (there === undefined) return ok(false);
      const { uid } = metadataOf(there.object);
      if (preconditions !== undefined && preconditions.uid !== uid) {
        return fail(refused(409, "Conflict", `${path} is another object`));
      }
      forget(path);
      onChange(path, true);
      return ok(true);
    },
    async apply(ref, object) {
      const path = objectPath(ref);
      if (path === null) return fail(noSuchPath(ref.resource));
      const why = await hindrance(CALL_MS);
      if (why !== null) return fail(why);
      if (!isKnown(path)) return fail(refused(404, "NotFound", `no such kind: ${path}`));
      return applyTo(path, object, MANAGER);
    },
    read(path) {
      const one = objects.get(path);
      if (one !== undefined) return one.object;
      const items = itemsOf(path);
      return items.length === 0 ? null : { items };
    },
    write(path, object, manager = "k3s") {
      applyTo(path, object, manager);
    },
    drop: forget,
  };
  return api;
}

/** Whether the object at a path belongs to a collection, which may be one of all namespaces. */
function isIn(path: string, collection: string): boolean {
  const end = path.lastIndexOf("/");
  if (end === collection.length && path.startsWith(collection)) return true;
  if (collection.includes("/namespaces/")) return false;
  const at = collection.lastIndexOf("/");
  return path.slice(0, end).endsWith(collection.slice(at)) &&
    path.startsWith(`${collection.slice(0, at)}/namespaces/`);
}

function metadataOf(object: JsonObject): JsonObject {
  const metadata = object["metadata"];
  return isJsonObject(metadata) ? metadata : {};
}

function refused(status: number, reason: string, message: string): K8sError {
  return { code: "refused", status, reason, message };
}

function noSuchPath(resource: string): K8sError {
  return refused(400, "BadRequest", `no object of the Kubernetes API can be called ${resource}`);
}
