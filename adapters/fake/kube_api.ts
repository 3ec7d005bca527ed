import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Place } from "./kube_checks.ts";
import { FIRST_NAMESPACES, k3sDefinitions, namespaceObject, nodeObject } from "./kube_seed.ts";
import { type ApiAnswer, failure, unknownPath, unknownResource } from "./kube_status.ts";
import { listPage } from "./kube_list.ts";
import { createKubeStore } from "./kube_store.ts";
import { evict } from "./kube_eviction.ts";

/** A request to the API, as it comes over HTTP. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Empty where there is no body. */
  readonly contentType: string;
  readonly body: string;
  /** What stands for the field manager of a create that names none. */
  readonly client: string;
}

/** One request that the API was sent. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  /** Status of the answer; null where a fault kept it from being answered. */
  readonly status: number | null;
}

/**
 * A fault: an answer of this status to everything, silence, or no API at all. `stall` sends headers and
 * never a body.
 */
export type ApiFault =
  | { readonly kind: "status"; readonly status: number; readonly reason?: string }
  | { readonly kind: "hang" }
  | { readonly kind: "stall" }
  | { readonly kind: "down" };

/** What tests and demos do to the API behind its back. */
export interface KubeControls {
  /** Breaks every request from now on; null mends it. */
  breakWith(fault: ApiFault | null): void;
  /** Whether `/readyz` says 200. */
  setReady(ready: boolean): void;
  /**
   * From now on the API is that of another cluster, with objects and UIDs of its own; 0 is the first one.
   * A cluster that was not shown before has just come up.
   */
  showCluster(cluster: number): void;
  /** Applies the definitions that k3s brings: `addons.k3s.cattle.io` and its kin. */
  installK3sDefinitions(): void;
  /** Makes or changes a Node with the condition Ready. */
  setNode(name: string, ready: boolean): void;
  /** Does what another client would: creates, or applies as `manager` with force. Throws on refusal. */
  write(path: string, object: JsonObject, manager: string): void;
  /** Removes an object by its path behind everybody's back; false where there was none. */
  drop(path: string): boolean;
  /** The object at a path as the API shows it, or null; counts as no request. */
  read(path: string): JsonObject | null;
  /** The newest 1,000 requests since the last `forgetRequests`, oldest first. */
  requests(): readonly SeenRequest[];
  /** Requests since then that could have written something, whether they did or not. */
  writes(): number;
  forgetRequests(): void;
}

/** An API server in memory, without a network. */
export interface KubeApi extends KubeControls {
  readonly fault: ApiFault | null;
  /** Answers a request, and counts it; a fault other than `status` answers null. */
  handle(request: ApiRequest): ApiAnswer | null;
}

const REMEMBERED = 1_000;
const VERSION = { major: "1", minor: "35", gitVersion: "v1.35.4+k3s1", platform: "linux/amd64" };

/** @param now milliseconds since the epoch; gives the times in metadata */
export function createKubeApi(now: () => number): KubeApi {
  let store = createKubeStore(now);
  const clusters = new Map([[0, store]]);
  let requests: SeenRequest[] = [];
  let writes = 0;
  let fault: ApiFault | null = null;
  let ready = true;
  let tokens = 0;

  function answer(request: ApiRequest): ApiAnswer {
    if (request.path === "/readyz" || request.path === "/livez") {
      return ready ? { status: 200, body: "ok" } : { status: 500, body: "[-]etcd failed\n" };
    }
    if (request.path === "/version") return { status: 200, body: VERSION };
    const target = parsePath(request.path);
    if (target === null) return unknownPath();
    const kind = store.kindAt(target.apiVersion, target.resource, target.namespace !== null);
    if ("status" in kind) {
      // A list may name a namespaced kind without a namespace.
      const namespaced = store.kindAt(target.apiVersion, target.resource, true);
      const isList = request.method === "GET" && target.name === null;
      return isList && !("status" in namespaced)
        ? listPage(store.list(namespaced, null), request.query)
        : kind;
    }
    const { namespace, name, subresource } = target;
    if (name === null) {
      if (request.method === "GET") return listPage(store.list(kind, namespace), request.query);
      return request.method === "POST" ? create(request, { kind, namespace }) : notAllowed();
    }
    const place = { kind, namespace, name };
    if (subresource === "eviction" && kind.resource === "pods") {
      return request.method === "POST"
        ? evict(store, place, parseObject(request.body))
        : notAllowed();
    }
    if (subresource !== null) return token(request, place, subresource);
    if (request.method === "GET") return store.get(place);
    if (request.method === "DELETE") return remove(request, place);
    return request.method === "PATCH" ? patch(request, place) : notAllowed();
  }

  function create(request: ApiRequest, place: Omit<Place, "name">): ApiAnswer {
    const object = parseObject(request.body);
    const metadata = object?.["metadata"];
    const name = isJsonObject(metadata) ? metadata["name"] : undefined;
    if (object === null || typeof name !== "string") {
      return failure(400, "BadRequest", "name must be provided");
    }
    const manager = request.query["fieldManager"] ?? request.client;
    return store.create({ ...place, name }, object, manager);
  }

  function remove(request: ApiRequest, place: Place): ApiAnswer {
    const asked = parseObject(request.body)?.["preconditions"];
    const { uid, resourceVersion } = isJsonObject(asked) ? asked : {};
    return store.remove(place, {
      ...(typeof uid === "string" ? { uid } : {}),
      ...(typeof resourceVersion === "string" ? { resourceVersion } : {}),
    });
  }

  /** The TokenRequest of a ServiceAccount; the tokens are no real ones, and none is twice the same. */
  function token(request: ApiRequest, place: Place, subresource: string): ApiAnswer {
    const asked = parseObject(request.body);
    const isToken = place.kind.resource === "serviceaccounts" && subresource === "token";
    if (!isToken) return unknownResource();
    if (request.method !== "POST") return notAllowed();
    const account = store.get(place);
    if (account.status !== 200) return account;
    const spec = asked?.["spec"];
    const seconds = isJsonObject(spec) ? spec["expirationSeconds"] ?? 3600 : 3600;
    if (asked?.["kind"] !== "TokenRequest" || typeof seconds !== "number" || seconds < 600) {
      const message = "spec.expirationSeconds: may not specify a duration less than 10 minutes";
      return failure(422, "Invalid", message);
    }
    tokens += 1;
    const expirationTimestamp = new Date(now() + seconds * 1000).toISOString();
    const status = { token: `fake-token-${place.name}-${tokens}`, expirationTimestamp };
    return { status: 201, body: { ...asked, status } };
  }

  function patch(request: ApiRequest, place: Place): ApiAnswer {
    if (request.contentType !== "application/apply-patch+yaml") {
      return failure(415, "UnsupportedMediaType", "415: Unsupported Media Type");
    }
    const manager = request.query["fieldManager"] ?? "";
    if (manager === "") {
      return failure(422, "Invalid", "fieldManager: Required value: is required for apply patch");
    }
    const config = parseObject(request.body);
    if (config === null) return failure(400, "BadRequest", "error decoding YAML");
    return store.apply(place, { config, manager, force: request.query["force"] === "true" });
  }

  function handle(request: ApiRequest): ApiAnswer | null {
    const { method, path } = request;
    const given = fault === null
      ? answer(request)
      : fault.kind === "status"
      ? failure(fault.status, fault.reason ?? null, "a fault that a test asked for")
      : null;
    if (method !== "GET") writes++;
    requests.push({ method, path, status: given?.status ?? null });
    if (requests.length > REMEMBERED) requests.shift();
    return given;
  }

  function direct(method: string, path: string, object?: JsonObject, manager = "seed"): ApiAnswer {
    return answer({
      method,
      path,
      query: { fieldManager: manager, force: "true" },
      contentType: method === "PATCH" ? "application/apply-patch+yaml" : "application/json",
      body: object === undefined ? "" : JSON.stringify(object),
      client: manager,
    });
  }

  function write(path: string, object: JsonObject, manager: string): void {
    const { status, body } = direct("PATCH", path, object, manager);
    if (status > 299) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }

  function makeNamespaces(): void {
    for (const name of FIRST_NAMESPACES) {
      write(`/api/v1/namespaces/${name}`, namespaceObject(name), "kube-apiserver");
    }
  }
  makeNamespaces();

  return {
    handle,
    write,
    get fault() {
      return fault;
    },
    breakWith: (next) => {
      fault = next;
    },
    setReady: (next) => {
      ready = next;
    },
    showCluster: (cluster) => {
      const known = clusters.get(cluster);
      store = known ?? createKubeStore(now, cluster);
      clusters.set(cluster, store);
      if (known === undefined) makeNamespaces();
    },
    installK3sDefinitions: () => {
      for (const definition of k3sDefinitions()) {
        const { name } = definition["metadata"] as { readonly name: string };
        const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
        write(path, definition, "deploy@k3s");
      }
    },
    setNode: (name, nodeReady) =>
      write(`/api/v1/nodes/${name}`, nodeObject(name, nodeReady), "k3s"),
    drop: (path) => direct("DELETE", path).status === 200,
    read: (path) => {
      const { status, body } = direct("GET", path);
      return status === 200 && isJsonObject(body) ? body : null;
    },
    requests: () => requests,
    writes: () => writes,
    forgetRequests: () => {
      requests = [];
      writes = 0;
    },
  };
}

interface Target {
  readonly apiVersion: string;
  readonly namespace: string | null;
  readonly resource: string;
  /** Null for the whole collection. */
  readonly name: string | null;
  /** What is asked of the object beyond itself, such as `token`; null for the object itself. */
  readonly subresource: string | null;
}

/** Takes apart `/api/v1/...` and `/apis/<group>/<version>/...`; null for any other path. */
function parsePath(path: string): Target | null {
  const segments = path.split("/").slice(1).map(decodeURIComponent);
  const [root, first = "", second = ""] = segments;
  const isCore = root === "api" && first === "v1";
  if (!isCore && root !== "apis") return null;
  const apiVersion = isCore ? first : `${first}/${second}`;
  const rest = segments.slice(isCore ? 2 : 3);
  if (rest.length === 0 || rest.some((segment) => segment === "")) return null;
  const inNamespace = rest[0] === "namespaces" && rest.length >= 3;
  const [resource = "", name = null, subresource = null, ...more] = inNamespace
    ? rest.slice(2)
    : rest;
  if (more.length > 0) return null;
  const namespace = inNamespace ? rest[1] ?? null : null;
  return { apiVersion, namespace, resource, name, subresource };
}

function parseObject(text: string): JsonObject | null {
  try {
    const value: JsonValue = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function notAllowed(): ApiAnswer {
  return failure(405, "MethodNotAllowed", "the server does not allow this method");
}
