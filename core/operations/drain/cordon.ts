import * as z from "zod";
import { at } from "../../cluster/live.ts";
import type { JsonObject } from "../../json.ts";
import type { ObjectRef } from "../../ports/k8s.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { awaitLead } from "../leading.ts";
import { podKey, podsOfNode } from "./pods.ts";
import type { DrainParams } from "./params.ts";

type Tools = StepTools<DrainParams>;

/** Names the operation that cordoned a Node: it may take that back, and no other. */
const CORDONED_BY = "pbx.io/cordoned-by";

/** What the cordon hands on. */
export const Cordoned = z.object({
  /** Null where the API tells none. */
  node_uid: z.string().nullable(),
  /** This operation cordoned it; else it was cordoned before. */
  own: z.boolean(),
  /** The Pods that have to go, by `podKey`. */
  pods: z.array(z.string()),
});

/** Keeps new Pods from the Node, unless somebody does already, and notes which ones have to go. */
export async function cordon(tools: Tools): Promise<StepEnd> {
  const { id, params, ports, say, waitFor } = tools;
  const noLead = await awaitLead(tools);
  if (noLead !== null) return noLead;
  const end = await waitFor(`the API to cordon Node ${params.node}`, async () => {
    const node = await ports.k8s.get(nodeRef(params.node));
    if (!node.ok) return node.error.code === "unreachable" ? null : refused(node.error.message);
    if (node.value === null) {
      const message = `there is no Node ${params.node}`;
      return { kind: "failed", code: "no_node", message } as const;
    }
    const found = at(node.value, "metadata", "uid");
    const uid = typeof found === "string" ? found : null;
    const isCordoned = at(node.value, "spec", "unschedulable") === true;
    const own = !isCordoned || at(node.value, "metadata", "annotations", CORDONED_BY) === id;
    if (!isCordoned) {
      if (!tools.leads()) return null;
      const applied = await ports.k8s.apply(
        nodeRef(params.node),
        nodeObject(params.node, uid, {
          metadata: { annotations: { [CORDONED_BY]: id } },
          spec: { unschedulable: true },
        }),
      );
      if (!applied.ok) {
        return applied.error.code === "unreachable" ? null : refused(applied.error.message);
      }
    }
    const pods = await podsOfNode(ports, params.node, params.deleteEmptyDir);
    return pods === null ? null : { kind: "cordoned", uid, own, pods } as const;
  });
  if (end === null) {
    return {
      kind: "failed",
      message: `Node ${params.node} was not cordoned: no answer of the API`,
    };
  }
  if (end.kind === "failed") return end;
  const pods = end.pods.filter(({ fate }) => fate === "goes").map(podKey);
  const how = end.own ? "takes no new Pods" : "took no new Pods before, and is left so at the end";
  await say(`Node ${params.node} ${how}; ${pods.length} Pods have to go`);
  return {
    kind: "done",
    handed: { node_uid: end.uid, own: end.own, pods },
    evidence: `Node ${params.node} ${how}`,
  };
}

/** Lets the Node take Pods again if this operation cordoned it; how it stands then, for people. */
export async function uncordon(tools: Tools): Promise<string> {
  const { params, ports } = tools;
  const { node_uid, own } = Cordoned.parse(tools.handed);
  const name = `Node ${params.node}`;
  if (!own) return `${name} stays cordoned, as it was before`;
  if (!tools.leads()) return `${name} stays cordoned: this node's agent leads no longer`;
  // Only fields that this agent owns go with it: a cordon of somebody else stays.
  const applied = await ports.k8s.apply(
    nodeRef(params.node),
    nodeObject(params.node, node_uid, {}),
  );
  if (!applied.ok) return `${name} stays cordoned: ${applied.error.message}`;
  return at(applied.value, "spec", "unschedulable") === true
    ? `${name} stays cordoned: somebody else cordoned it too`
    : `${name} takes new Pods again`;
}

function nodeRef(name: string): ObjectRef {
  return { apiVersion: "v1", resource: "nodes", name };
}

/** With the UID: an apply would make a Node anew that was deleted meanwhile. */
function nodeObject(
  name: string,
  uid: string | null,
  change: { readonly metadata?: JsonObject; readonly spec?: JsonObject },
): JsonObject {
  const { metadata = {}, spec } = change;
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, ...(uid === null ? {} : { uid }), ...metadata },
    ...(spec === undefined ? {} : { spec }),
  };
}

function refused(message: string) {
  return { kind: "failed", message } as const;
}
