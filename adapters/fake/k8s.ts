import { objectPath } from "../../core/cluster/object_path.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8s, K8sError, ObjectRef } from "../../core/ports/k8s.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { createKubeApi, type KubeControls } from "./kube_api.ts";
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
    method: string,
    path: string,
    body: string,
    limitMs: number,
  ): Promise<Result<ApiAnswer, K8sError>> {
    const answer = api.handle({
      method,
      path,
      query: { fieldManager: "pbx-agent", force: "true" },
      contentType: "application/apply-patch+yaml",
      body,
      client: "pbx-agent",
    });
    if (answer !== null) return ok(answer);
    if (api.fault?.kind !== "down") await clock?.sleep(limitMs);
    return fail({ code: "unreachable", message: `the API is ${api.fault?.kind}` });
  }

  async function ready(): Promise<boolean> {
    const answer = await call("GET", "/readyz", "", READY_MS);
    return answer.ok && answer.value.status === 200;
  }

  async function get(ref: ObjectRef): Promise<Result<JsonObject | null, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const answer = await call("GET", path, "", CALL_MS);
    if (!answer.ok) return answer;
    return answer.value.status === 404 ? ok(null) : objectOf(answer.value);
  }

  async function apply(ref: ObjectRef, object: JsonObject): Promise<Result<JsonObject, K8sError>> {
    const path = objectPath(ref);
    if (path === null) return fail(noSuchPath(ref));
    const answer = await call("PATCH", path, JSON.stringify(object), CALL_MS);
    return answer.ok ? objectOf(answer.value) : answer;
  }

  const { fault: _fault, handle: _handle, ...controls } = api;
  return { ...controls, ready, get, apply };
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

function noSuchPath(ref: ObjectRef): K8sError {
  const message = `no object of the Kubernetes API can be called ${ref.resource}/${ref.name}`;
  return { code: "refused", status: 400, reason: "BadRequest", message };
}
