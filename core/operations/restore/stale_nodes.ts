import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { CollectionRef } from "../../ports/k8s.ts";

/** Every Node. */
export const NODES: CollectionRef = { apiVersion: "v1", resource: "nodes" };
/** The Leases by which kubelets show that they live, each named after its Node (k3s fact G). */
export const NODE_LEASES: CollectionRef = {
  apiVersion: "coordination.k8s.io/v1",
  resource: "leases",
  namespace: "kube-node-lease",
};

/** A Node, and the sign of life of its kubelet. */
export interface NodeLife {
  readonly name: string;
  readonly uid: string;
  /** When its Lease was last renewed, in the kubelet's own words; null without a Lease. */
  readonly renewedAt: string | null;
  /** Its deletion is asked for, and waits for finalizers. */
  readonly isDeleted: boolean;
}

/** Puts Nodes and Leases together. */
export function nodeLives(
  nodes: readonly JsonObject[],
  leases: readonly JsonObject[],
): readonly NodeLife[] {
  const renewed = new Map(leases.map((lease) => {
    const spec = map(lease["spec"]);
    return [text(map(lease["metadata"])["name"]), text(spec["renewTime"])];
  }));
  return nodes.map((node) => {
    const { name, uid, deletionTimestamp } = map(node["metadata"]);
    return {
      name: text(name),
      uid: text(uid),
      renewedAt: renewed.get(text(name)) || null,
      isDeleted: deletionTimestamp !== undefined,
    };
  });
}

/**
 * The Nodes that are not there any more: known when the restored API came up, and without any renewal of
 * their Lease since. Only whether the time in the Lease changed counts, so no clock has to be right. A
 * Node that came meanwhile has shown that it lives.
 */
export function staleNodes(
  before: readonly NodeLife[],
  now: readonly NodeLife[],
): readonly NodeLife[] {
  return now.filter(({ uid, renewedAt }) => {
    const then = before.find((node) => node.uid === uid);
    return then !== undefined && then.renewedAt === renewedAt;
  });
}

function map(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
