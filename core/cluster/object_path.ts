import type { CollectionRef, Labels, ObjectRef } from "../ports/k8s.ts";

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
  const collection = collectionPath(ref);
  if (collection === null || !NAME.test(ref.name)) return null;
  return `${collection}/${encodeURIComponent(ref.name)}`;
}

/** The URL path of all objects of a kind, for example `/api/v1/nodes`; null as for {@link objectPath}. */
export function collectionPath(ref: CollectionRef): string | null {
  const { apiVersion, resource, namespace } = ref;
  if (!API_VERSION.test(apiVersion) || !RESOURCE.test(resource)) return null;
  if (namespace !== undefined && !NAMESPACE.test(namespace)) return null;
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = namespace === undefined ? root : `${root}/namespaces/${namespace}`;
  return `${place}/${resource}`;
}

const LABEL_KEY =
  /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

/**
 * The API's `labelSelector` for these labels; null where one could not be a label, so that no value can
 * widen what is selected.
 */
export function labelSelector(labels: Labels): string | null {
  const entries = Object.entries(labels);
  const isSound = ([key, value]: [string, string]) =>
    LABEL_KEY.test(key) && LABEL_VALUE.test(value);
  return entries.every(isSound) ? entries.map(([key, value]) => `${key}=${value}`).join(",") : null;
}

const FIELD = /^[a-z][A-Za-z]*(?:\.[a-z][A-Za-z]*)*$/;
const FIELD_VALUE = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/** The API's `fieldSelector` for these values of fields; null where one could widen what is selected. */
export function fieldSelector(fields: Labels): string | null {
  const entries = Object.entries(fields);
  const isSound = ([field, value]: [string, string]) =>
    FIELD.test(field) && FIELD_VALUE.test(value);
  return entries.every(isSound) ? entries.map(([key, value]) => `${key}=${value}`).join(",") : null;
}
