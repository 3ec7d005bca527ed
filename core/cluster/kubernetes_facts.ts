import type { JsonObject } from "../json.ts";
import { at, conditionStatus } from "./live.ts";

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
  const status = conditionStatus(node, "Ready");
  return status === "True" ? true : status === "False" ? false : null;
}

/** How k3s notes on a Node which member of etcd it has (k3s fact G); null where it has none. */
export function memberOfNode(node: JsonObject): string | null {
  const name = at(node, "metadata", "annotations", "etcd.k3s.cattle.io/node-name");
  return typeof name === "string" && name !== "" ? name : null;
}
