import { at } from "../../cluster/live.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import type { CollectionRef } from "../../ports/k8s.ts";
import type { Ports } from "../../ports/mod.ts";

const PODS: CollectionRef = { apiVersion: "v1", resource: "pods" };

/** A Pod of a node, and what a drain does with it. */
export interface DrainPod {
  readonly namespace: string;
  readonly name: string;
  /** Its UID; null where the API tells none. */
  readonly uid: string | null;
  /** Its deletion is under way. */
  readonly isGoing: boolean;
  /**
   * `stays`: it belongs to the node, and would be there again at once. `kept`: its emptyDir would be lost,
   * which nobody asked for. `goes`: it is evicted.
   */
  readonly fate: "stays" | "kept" | "goes";
  /** Why it is kept, for people; empty for the others. */
  readonly why: string;
}

/** The Pods of a node; null while the API does not tell. */
export async function podsOfNode(
  { k8s }: Ports,
  node: string,
  deleteEmptyDir: boolean,
): Promise<readonly DrainPod[] | null> {
  const pods = await k8s.list(PODS, {}, { "spec.nodeName": node });
  if (!pods.ok) return null;
  // Only what says so itself is touched, whatever the list was asked for.
  const there = (pods.value ?? []).filter((pod) => at(pod, "spec", "nodeName") === node);
  return there.map((pod) => drainPod(pod, deleteEmptyDir));
}

/**
 * Judges a Pod as `kubectl drain` does, but leaves one with an emptyDir where that would stop, and evicts
 * one without a controller where that would ask for `--force`.
 */
export function drainPod(pod: JsonObject, deleteEmptyDir: boolean): DrainPod {
  const text = (...path: string[]) => String(at(pod, ...path) ?? "");
  const named = {
    namespace: text("metadata", "namespace"),
    name: text("metadata", "name"),
    uid: text("metadata", "uid") || null,
    isGoing: at(pod, "metadata", "deletionTimestamp") !== undefined,
  };
  if (belongsToNode(pod)) return { ...named, fate: "stays", why: "" };
  const isKept = hasEmptyDir(pod) && !deleteEmptyDir && !isOver(pod) && !named.isGoing;
  return isKept
    ? { ...named, fate: "kept", why: "its emptyDir would be lost" }
    : { ...named, fate: "goes", why: "" };
}

/** By which a Pod is told from another one of the same name, where the API gives UIDs. */
export function podKey(pod: DrainPod): string {
  return pod.uid ?? podName(pod);
}

/** How a Pod is called in logs and outputs. */
export function podName({ namespace, name }: DrainPod): string {
  return `${namespace}/${name}`;
}

/** Of a DaemonSet, which ignores that a node takes no Pods; or a mirror of what the kubelet runs itself. */
function belongsToNode(pod: JsonObject): boolean {
  return controllerOf(pod)?.["kind"] === "DaemonSet" ||
    at(pod, "metadata", "annotations", "kubernetes.io/config.mirror") !== undefined;
}

/** Its containers have ended: nothing runs, and what it had is there to be removed. */
function isOver(pod: JsonObject): boolean {
  return ["Succeeded", "Failed"].includes(String(at(pod, "status", "phase")));
}

/** The owner that controls it; one that does not say whether it does counts too. */
function controllerOf(pod: JsonObject): JsonObject | undefined {
  const owners = at(pod, "metadata", "ownerReferences");
  if (!Array.isArray(owners)) return undefined;
  const objects = owners.filter(isJsonObject);
  return objects.find(({ controller }) => controller === true) ??
    objects.find(({ controller }) => controller === undefined);
}

function hasEmptyDir(pod: JsonObject): boolean {
  const volumes = at(pod, "spec", "volumes");
  return Array.isArray(volumes) &&
    volumes.some((volume) => isJsonObject(volume) && volume["emptyDir"] !== undefined);
}
