import { objectPath } from "../../core/cluster/object_path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Disk } from "../../core/ports/disk.ts";
import type { K8s, K8sError, ObjectRef } from "../../core/ports/k8s.ts";
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
}

/** The client of the Kubernetes API, with an end for tests. */
export interface NodeK8s extends K8s {
  /** Closes idle connections. */
  close(): void;
}

const CALL_MS = 10_000;
const READY_MS = 5_000;

/**
 * The Kubernetes API of this node, on `fetch`: the administrator that k3s's kubeconfig names, direct
 * whatever the proxy variables say, connections kept for the next call. Each call ends within 10 s (the
 * look at `/readyz` within 5 s) and takes at most 8 MiB.
 *
 * An answer that is cut, too large or no JSON object counts as `unreachable`, like no answer.
 */
export function createNodeK8s(options: NodeK8sOptions): NodeK8s {
  const { disk, clock, version, fieldManager = "pbx-agent" } = options;
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

  async function ready(): Promise<boolean> {
    const answer = await exchange({ method: "GET", path: "/readyz", totalMs: READY_MS });
    return answer.ok && answer.value.status === 200;
  }

  return { ready, get, apply, close: sessions.close };
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

function parseJson(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}

/** Refused before it is sent, with what the API itself says of a name that it cannot take. */
function noSuchPath(ref: ObjectRef): K8sError {
  const named = JSON.stringify([ref.apiVersion, ref.namespace ?? "", ref.resource, ref.name]);
  const message = `no object of the Kubernetes API can be called ${named.slice(0, 300)}`;
  return { code: "refused", status: 400, reason: "BadRequest", message };
}
