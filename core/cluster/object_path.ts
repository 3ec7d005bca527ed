import type { ObjectRef } from "../ports/k8s.ts";

const API_VERSION =
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?$/;
const RESOURCE = /^[a-z][a-z0-9]{0,62}$/;
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Wider than a DNS name: names of roles hold colons and capitals. No slash, percent sign or blank. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?$/;

/**
 * The URL path of an object in the Kubernetes API, for example
 * `/api/v1/namespaces/kube-system/secrets/hcloud`; null where a part of `ref` could not be a name there,
 * so that nothing a portal or a node names can reach another path.
 */
export function objectPath(ref: ObjectRef): string | null {
  const { apiVersion, resource, namespace, name } = ref;
  if (!API_VERSION.test(apiVersion) || !RESOURCE.test(resource) || !NAME.test(name)) return null;
  if (namespace !== undefined && !NAMESPACE.test(namespace)) return null;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = namespace === undefined ? root : `${root}/namespaces/${namespace}`;
  return `${place}/${resource}/${encodeURIComponent(name)}`;
}
