import {
  collectionPath,
  fieldSelector,
  labelSelector,
  objectPath,
} from "../../core/cluster/object_path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type {
  CollectionRef,
  K8s,
  K8sError,
  Labels,
  ObjectRef,
  Preconditions,
} from "../../core/ports/k8s.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type KubeAnswer, kubeExchange, type KubeRequest } from "./kube_exchange.ts";
import { createKubeSessions } from "./kube_sessions.ts";
import { refusal } from "./kube_status.ts";

/** What the client of the Kubernetes API is made of. */
export interface NodeK8sOptions {
  /** Where `/etc/rancher/k3s/k3s.yaml` is read. */
  readonly disk: Disk;
  readonly clock: Clock;
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
  /** Who owns the fields that `apply` sets. */
  readonly fieldManager?: string;
  /** Objects that a page of a list holds at most; 500 unless told. */
  readonly pageSize?: number;
}

/** The client of the Kubernetes API, with an end for tests. */
export interface NodeK8s extends K8s {
  /** Closes idle connections. */
  close(): void;
}

const CALL_MS = 10_000;
/**
 * Pages of one list, 500 objects on each, and bytes of them together: more than k3s takes on some hundred
 * nodes, and a fraction of what a list that does not end would fill. Half of a list is none: the agent
 * deletes what a list does not show.
 */
const MAX_PAGES = 100;
const MAX_LIST_BYTES = 64 * 1024 * 1024;
const READY_MS = 5_000;

/**
 * The Kubernetes API of this node, on `fetch`: the administrator that k3s's kubeconfig names, direct
 * whatever the proxy variables say, connections kept for the next call. Each call ends within 10 s (the
 * look at `/readyz` within 5 s) and takes at most 8 MiB.
 *
 * An answer that is cut, too large or no JSON object counts as `unreachable`, like no answer.
 */
export function createNodeK8s(options: NodeK8sOptions): NodeK8s {
  const { disk, clock, version, fieldManager = "pbx-agent", pageSize = 500 } = options;
  const sessions = createKubeSessions(disk);

  async function exchange(
    request: Omit<KubeRequest, "headers"> & { readonly contentType?: string },
  ): Promise<Result<KubeAnswer, K8sError>> {
    const session = await sessions.open();
    if (!session.ok) return fail({ code: "unreachable", message: session.error });
    try {
      const headers = {
        "Accept": "application/json",
        "User-Agent": `pbx-agent/${version}`,
        ...(request.contentType === undefined ? {} : { "Content-Type": request.contentType }),
      };
      const answer = await kubeExchange(session.value, { ...request, headers }, clock);
      return answer.ok ? answer : fail({ code: "unreachable", message: answer.error });
    } finally {
      session.value.release();
    }
  }

  async function get(ref: ObjectRef): Promise<Result<JsonObject | null, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const answer = await exchange({ method: "GET", path, totalMs: CALL_MS });
    if (!answer.ok) return answer;
    if (answer.value.status === 404) return ok(null);
    return objectOf(answer.value, `GET ${path}`, null);
  }

  async function apply(ref: ObjectRef, object: JsonObject): Promise<Result<JsonObject, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const query = new URLSearchParams({ fieldManager, force: "true" });
    const answer = await exchange({
      method: "PATCH",
      path: `${path}?${query}`,
      // JSON is YAML.
      contentType: "application/apply-patch+yaml",
      body: JSON.stringify(object),
      totalMs: CALL_MS,
    });
    return answer.ok ? objectOf(answer.value, `apply ${path}`, object) : answer;
  }

  async function list(
    ref: CollectionRef,
    labels: Labels = {},
    fields: Labels = {},
  ): Promise<Result<readonly JsonObject[] | null, K8sError>> {
    const path = collectionPath(ref);
    const [selector, fieldsWanted] = [labelSelector(labels), fieldSelector(fields)];
    if (path === null || selector === null || fieldsWanted === null) return fail(noSuchPath(ref));
    const items: JsonObject[] = [];
    let bytes = 0;
    const query = new URLSearchParams({ limit: String(pageSize) });
    if (selector !== "") query.set("labelSelector", selector);
    if (fieldsWanted !== "") query.set("fieldSelector", fieldsWanted);
    const endless = (why: string) =>
      fail({ code: "unreachable", message: `GET ${path}: ${why}` } as const);
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const request = { method: "GET", path: `${path}?${query}`, totalMs: CALL_MS } as const;
      const answer = await exchange(request);
      if (!answer.ok) return answer;
      if (answer.value.status === 404) return ok(null);
      const page = objectOf(answer.value, `GET ${path}`, null);
      if (!page.ok) return page;
      const { metadata } = page.value;
      // Lists are deleted from: only what says itself that it belongs to one does.
      items.push(...itemsOf(page.value).filter((item) => carries(item, labels)));
      const next = isJsonObject(metadata) ? metadata["continue"] : undefined;
      if (typeof next !== "string" || next === "") return ok(items);
      bytes += answer.value.body.length;
      if (bytes > MAX_LIST_BYTES) return endless(`the list has over ${MAX_LIST_BYTES} bytes`);
      if (query.get("continue") === next) return endless("the list names the same page again");
      query.set("continue", next);
    }
    return endless(`the list does not end after ${MAX_PAGES} pages`);
  }

  async function create(
    ref: ObjectRef,
    object: JsonObject,
    subresource?: "token" | "eviction",
  ): Promise<Result<JsonObject, K8sError>> {
    const [collection, whole] = [collectionPath(ref), objectPath(ref)];
    if (collection === null || whole === null) return fail(noSuchPath(ref));
    const path = subresource === undefined ? collection : `${whole}/${subresource}`;
    const answer = await exchange({
      method: "POST",
      path: `${path}?${new URLSearchParams({ fieldManager })}`,
      contentType: "application/json",
      body: JSON.stringify(object),
      totalMs: CALL_MS,
    });
    return answer.ok ? objectOf(answer.value, `create ${path}`, object) : answer;
  }

  async function remove(
    ref: ObjectRef,
    preconditions?: Preconditions,
  ): Promise<Result<boolean, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const options = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      ...(preconditions === undefined ? {} : { preconditions }),
    };
    const answer = await exchange({
      method: "DELETE",
      path,
      contentType: "application/json",
      body: JSON.stringify(options),
      totalMs: CALL_MS,
    });
    if (!answer.ok) return answer;
    if (answer.value.status === 404) return ok(false);
    const removed = objectOf(answer.value, `delete ${path}`, null);
    return removed.ok ? ok(true) : removed;
  }

  async function ready(): Promise<boolean> {
    const answer = await exchange({ method: "GET", path: "/readyz", totalMs: READY_MS });
    return answer.ok && answer.value.status === 200;
  }

  return { ready, get, list, create, remove, apply, close: sessions.close };
}

function objectOf(
  answer: KubeAnswer,
  action: string,
  sent: JsonObject | null,
): Result<JsonObject, K8sError> {
  const value = parseJson(answer.body);
  if (answer.status < 200 || answer.status > 299) {
    return fail(refusal(answer.status, value, action, sent));
  }
  if (isJsonObject(value)) return ok(value);
  return fail({ code: "unreachable", message: `${action}: the answer is no JSON object` });
}

function carries({ metadata }: JsonObject, labels: Labels): boolean {
  const own = isJsonObject(metadata) && isJsonObject(metadata["labels"]) ? metadata["labels"] : {};
  return Object.entries(labels).every(([name, value]) => own[name] === value);
}

function itemsOf({ items }: JsonObject): readonly JsonObject[] {
  return Array.isArray(items) ? items.filter(isJsonObject) : [];
}

function parseJson(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Refused before it is sent, with what the API itself says of a name that it cannot take. */
function noSuchPath(ref: CollectionRef & { readonly name?: string }): K8sError {
  const { apiVersion, namespace = "", resource, name = "" } = ref;
  const named = JSON.stringify([apiVersion, namespace, resource, name]);
  const message = `no object of the Kubernetes API can be called ${named.slice(0, 300)}`;
  return { code: "refused", status: 400, reason: "BadRequest", message };
}
