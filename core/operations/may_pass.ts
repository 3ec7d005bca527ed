import type { K8sError } from "../ports/k8s.ts";

/**
 * Whether the API may answer otherwise soon: it is away, its etcd chooses a leader, or it has too much to do.
 * Of a request that the API understands, that is; one with an unknown field is answered 500 for ever
 * (kubernetes facts).
 */
export function mayPass(error: K8sError): boolean {
  return error.code === "unreachable" || error.status === 429 || error.status >= 500;
}
