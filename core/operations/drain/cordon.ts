import * as z from "zod";
import { at } from "../../cluster/live.ts";
import type { JsonObject } from "../../json.ts";
import type { K8sError, ObjectRef } from "../../ports/k8s.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { awaitLead } from "../leading.ts";
import { mayPass } from "../../cluster/may_pass.ts";
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
type Cordon = Pick<z.infer<typeof Cordoned>, "node_uid" | "own">;

/** Keeps new Pods from the Node, unless somebody does already, and notes which ones have to go. */
export async function cordon(tools: Tools): Promise<StepEnd> {
  const { id, params, ports, say, waitFor } = tools;
  const noLead = await awaitLead(tools);
  if (noLead !== null) return noLead;
  let why = "";
  /** What this operation has to take back, should it end here. */
  let tried: Cordon | null = null;
  const waits = (reason: string) => {
    why = reason;
    return null;
  };
  const end = await waitFor(`the API to cordon Node ${params.node}`, async () => {
    const node = await ports.k8s.get(nodeRef(params.node));
    if (!node.ok) return mayPass(node.error) ? waits(node.error.message) : refused(node.error);
    if (node.value === null) {
      const message = `there is no Node ${params.node}`;
      return { kind: "failed", code: "no_node", message } as const;
    }
    const found = at(node.value, "metadata", "uid");
    const uid = typeof found === "string" ? found : null;
    const isCordoned = at(node.value, "spec", "unschedulable") === true;
    const own = !isCordoned || at(node.value, "metadata", "annotations", CORDONED_BY) === id;
    if (!isCordoned) {
      if (!tools.leads()) return waits("this node's agent leads the cluster no longer");
      tried = { node_uid: uid, own };
      const applied = await ports.k8s.apply(
        nodeRef(params.node),
        nodeObject(params.node, uid, {
          metadata: { annotations: { [CORDONED_BY]: id } },
          spec: { unschedulable: true },
        }),
      );
      if (!applied.ok) {
        return mayPass(applied.error) ? waits(applied.error.message) : refused(applied.error);
      }
    } else if (own) tried = { node_uid: uid, own };
    const pods = await podsOfNode(ports, params.node, params.deleteEmptyDir);
    return pods === null
      ? waits("it does not list the node's Pods")
      : { kind: "cordoned", uid, own, pods } as const;
  });
  if (end === null) {
    const how = tried === null
      ? `Node ${params.node} was not cordoned`
      : await uncordon(tools, tried);
    return { kind: "failed", message: `no Pod was evicted: ${why}; ${how}` };
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
export async function uncordon(tools: Tools, { node_uid, own }: Cordon): Promise<string> {
  const { params, ports } = tools;
  const name = `Node ${params.node}`;
  if (!own) return `${name} stays cordoned, as it was before`;
  if (!tools.leads()) return `${leftCordoned(tools)} (this node's agent leads no longer)`;
  // Only fields that this agent owns go with it: a cordon of somebody else stays.
  const applied = await ports.k8s.apply(
    nodeRef(params.node),
    nodeObject(params.node, node_uid, {}),
  );
  if (!applied.ok) return `${leftCordoned(tools)} (${applied.error.message})`;
  return at(applied.value, "spec", "unschedulable") === true
    ? `${name} stays cordoned: somebody else cordoned it too`
    : `${name} takes new Pods again`;
}

/** How the Node stands where a drain ends without taking anything back, for people. */
export function leftCordoned({ params: { node } }: Tools): string {
  return `Node ${node} stays cordoned: drain it again, or \`kubectl uncordon ${node}\``;
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

function refused({ message }: K8sError) {
  return { kind: "failed", message } as const;
}
