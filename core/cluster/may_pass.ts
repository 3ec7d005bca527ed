import type { K8sError } from "../ports/k8s.ts";

/**
 * What says nothing about the request itself: the credentials are not known at the moment (401: k3s makes
 * new ones at its start), the request was too slow (408), the list it went on with is too old (410), or there
 * are too many requests (425, 429).
 */
const ABOUT_NOW: readonly number[] = [401, 408, 410, 425, 429];

/**
 * The API's words for a field that the kind does not have. Some versions answer that with 500 for ever
 * (kubernetes facts), so the status alone would be taken for trouble.
 */
const UNKNOWN_FIELD = /field not declared in schema|failed to create typed patch object/;

/** The API's words for a namespace that is on its way out: it answers 403, or 409 to some requests. */
const TERMINATING = /is being terminated/;

/**
 * Whether the API may answer the same request otherwise soon: it is away, its etcd chooses a leader, it has
 * too much to do, or an admission webhook is down. Such an answer is not a verdict on the request: it is
 * made again.
 */
export function mayPass(error: K8sError): boolean {
  if (error.code === "unreachable") return true;
  const { status, message } = error;
  if (ABOUT_NOW.includes(status)) return true;
  if (status >= 500) return !UNKNOWN_FIELD.test(message);
  return (status === 403 || status === 409) && TERMINATING.test(message);
}

/**
 * The same for a caller that looks at the cluster again and decides from that: a conflict (409) is about
 * what was seen before, and 404 about a kind that is not served yet.
 */
export function mayPassByNextLook(error: K8sError): boolean {
  return mayPass(error) ||
    (error.code === "refused" && (error.status === 404 || error.status === 409));
}
