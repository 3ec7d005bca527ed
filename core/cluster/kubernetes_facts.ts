import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/**
 * The UID of a Namespace; null where the object has none. kube-system's tells one cluster from another:
 * it changes only when the cluster's store is made anew.
 */
export function namespaceUid(namespace: JsonObject): string | null {
  const uid = at(namespace, "metadata", "uid");
  return typeof uid === "string" && uid !== "" ? uid : null;
}

/**
 * Whether a Node reports that it is ready: its condition `Ready` is `True`. Null where it cannot be
 * told: no such condition, or `Unknown` (the kubelet has not been heard of for a while).
 */
export function nodeReady(node: JsonObject): boolean | null {
  const conditions = at(node, "status", "conditions");
  if (!Array.isArray(conditions)) return null;
  const ready = conditions.find((each) => isJsonObject(each) && each["type"] === "Ready");
  const status = at(ready, "status");
  return status === "True" ? true : status === "False" ? false : null;
}

function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let here = value;
  for (const key of path) here = isJsonObject(here) ? here[key] : undefined;
  return here;
}
