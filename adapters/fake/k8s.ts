import {
  collectionPath,
  fieldSelector,
  labelSelector,
  objectPath,
} from "../../core/cluster/object_path.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type {
  CollectionRef,
  K8s,
  K8sError,
  Labels,
  ObjectRef,
  Preconditions,
} from "../../core/ports/k8s.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type ApiRequest, createKubeApi, type KubeControls } from "./kube_api.ts";
import type { ApiAnswer } from "./kube_status.ts";

/** The Kubernetes API in memory, with what tests do to it behind its back. */
export interface FakeK8s extends K8s, KubeControls {}

const CALL_MS = 10_000;
const READY_MS = 5_000;

/**
 * A cluster that has just come up: its namespaces are there, the definitions that k3s brings are not.
 *
 * @param options.clock gives the times in metadata, and the 10 s (`/readyz`: 5 s) that a call takes
 * while the API hangs; without one the time is the epoch and a hanging call fails at once
 */
export function createFakeK8s(options: { readonly clock?: Clock } = {}): FakeK8s {
  const { clock } = options;
  const api = createKubeApi(() => clock?.now() ?? 0);

  async function call(
    request: Pick<ApiRequest, "method" | "path"> & Partial<ApiRequest>,
    limitMs = CALL_MS,
  ): Promise<Result<ApiAnswer, K8sError>> {
    const answer = api.handle({
      query: { fieldManager: "pbx-agent", force: "true" },
      contentType: "application/json",
      body: "",
      client: "pbx-agent",
      ...request,
    });
    if (answer !== null) return ok(answer);
    if (api.fault?.kind !== "down") await clock?.sleep(limitMs);
    return fail({ code: "unreachable", message: `the API is ${api.fault?.kind}` });
  }

  async function ready(): Promise<boolean> {
    const answer = await call({ method: "GET", path: "/readyz" }, READY_MS);
    return answer.ok && answer.value.status === 200;
  }

  async function get(ref: ObjectRef): Promise<Result<JsonObject | null, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const answer = await call({ method: "GET", path });
    if (!answer.ok) return answer;
    return answer.value.status === 404 ? ok(null) : objectOf(answer.value);
  }

  async function list(
    ref: CollectionRef,
    labels: Labels = {},
    fields: Labels = {},
  ): Promise<Result<readonly JsonObject[] | null, K8sError>> {
    const path = collectionPath(ref);
    const [selector, fieldsWanted] = [labelSelector(labels), fieldSelector(fields)];
    if (path === null || selector === null || fieldsWanted === null) return fail(noSuchPath(ref));
    const query = { labelSelector: selector, fieldSelector: fieldsWanted };
    const answer = await call({ method: "GET", path, query });
    if (!answer.ok) return answer;
    if (answer.value.status === 404) return ok(null);
    const page = objectOf(answer.value);
    if (!page.ok) return page;
    const { items } = page.value;
    return ok(Array.isArray(items) ? items.filter(isJsonObject) : []);
  }

  async function create(
    ref: ObjectRef,
    object: JsonObject,
    subresource?: "token" | "eviction",
  ): Promise<Result<JsonObject, K8sError>> {
    const [collection, whole] = [collectionPath(ref), objectPath(ref)];
    if (collection === null || whole === null) return fail(noSuchPath(ref));
    const path = subresource === undefined ? collection : `${whole}/${subresource}`;
    const answer = await call({ method: "POST", path, body: JSON.stringify(object) });
    return answer.ok ? objectOf(answer.value) : answer;
  }

  async function remove(
    ref: ObjectRef,
    preconditions?: Preconditions,
  ): Promise<Result<boolean, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const answer = await call({ method: "DELETE", path, body: JSON.stringify({ preconditions }) });
    if (!answer.ok) return answer;
    if (answer.value.status === 404) return ok(false);
    const removed = objectOf(answer.value);
    return removed.ok ? ok(true) : removed;
  }

  async function apply(ref: ObjectRef, object: JsonObject): Promise<Result<JsonObject, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const contentType = "application/apply-patch+yaml";
    const body = JSON.stringify(object);
    const answer = await call({ method: "PATCH", path, contentType, body });
    return answer.ok ? objectOf(answer.value) : answer;
  }

  const { fault: _fault, handle: _handle, ...controls } = api;
  return { ...controls, ready, get, list, create, remove, apply };
}

function objectOf({ status, body }: ApiAnswer): Result<JsonObject, K8sError> {
  if (status <= 299 && isJsonObject(body)) return ok(body);
  const { reason, message } = isJsonObject(body)
    ? { reason: body["reason"] ?? "", message: body["message"] }
    : { reason: "", message: body };
  return fail({
    code: "refused",
    status,
    reason: String(reason),
    message: `${status}: ${message}`,
  });
}

function noSuchPath(ref: CollectionRef & { readonly name?: string }): K8sError {
  const named = `${ref.resource}/${ref.name ?? ""}`;
  const message = `no object of the Kubernetes API can be called ${named}`;
  return { code: "refused", status: 400, reason: "BadRequest", message };
}
