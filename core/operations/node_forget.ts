import * as z from "zod";
import { nodeReady } from "../cluster/kubernetes_facts.ts";
import { at } from "../cluster/live.ts";
import type { JsonObject } from "../json.ts";
import type { K8sError } from "../ports/k8s.ts";
import { DnsLabel } from "../protocol/identifiers.ts";
import { defineOperation, type StepEnd, type StepTools } from "./definition.ts";
import { memberObjection } from "./forget/member.ts";
import { awaitLead } from "./leading.ts";
import { mayPass } from "../cluster/may_pass.ts";
import { NODE_LEASES, type NodeLife, nodeLives, NODES } from "./restore/stale_nodes.ts";
import { nodeNames } from "./snapshots/find_snapshots.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({ node: DnsLabel });
type Params = z.infer<typeof Params>;
type Tools = StepTools<Params>;

/** A kubelet renews its Lease every 10 s: in this time it would have three times over. */
const WATCH_MS = 30_000;

/**
 * Deletes the Node of a server that is gone, and with it k3s its member of etcd. Never its own Node, and
 * never one that lives: Ready, with a kubelet that renews its Lease or a member that answers; nor one
 * without which this server does not see a majority. `existed` is false where there is none; after a crash
 * between the deletion and its record, too. Carried out by the leader.
 */
export const nodeForget = defineOperation({
  kind: "node.forget",
  params: Params,
  needsApi: true,
  steps: { delete_node: { timeoutMs: TIMEOUT_MS.kubernetes, run: deleteNode } },
  output: ({ existed }) => ({ existed: existed ?? false }),
});

async function deleteNode(tools: Tools): Promise<StepEnd> {
  const { params, ports, node, say, signal } = tools;
  const name = params.node;
  if ((await nodeNames(ports, node)).includes(name)) {
    return failed(
      "own_node",
      `${name} is this node itself: only another server's agent forgets it`,
    );
  }
  const noLead = await awaitLead(tools);
  if (noLead !== null) return noLead;
  const before = await look(tools);
  if (before === null) return NO_ANSWER;
  if (before.life === null) return { kind: "done", handed: { existed: false } };
  if (before.isReady === true) return alive(`Node ${name} is Ready`);
  // Without a condition and a Lease no kubelet has ever spoken for it: there is nothing to wait for.
  if (before.isReady !== null || before.life.renewedAt !== null) {
    await say(`Node ${name} is not Ready: ${WATCH_MS / 1000} s for a sign of life of its kubelet`);
    await ports.clock.sleep(WATCH_MS, signal);
    const now = signal.aborted ? null : await look(tools);
    if (now === null) return NO_ANSWER;
    if (now.life === null) return { kind: "done", handed: { existed: true } };
    const isAlive = now.isReady === true || now.life.uid !== before.life.uid ||
      now.life.renewedAt !== before.life.renewedAt;
    if (isAlive) return alive(`the kubelet of Node ${name} renews its Lease`);
  }
  return await deleteAsSeen(tools, before.life.uid);
}

/** Deletes the Node as it is now, once nothing is against it any more; each time all of it is looked at. */
async function deleteAsSeen(tools: Tools, uid: string): Promise<StepEnd> {
  const { params, ports, waitFor } = tools;
  const name = params.node;
  let why = "the API does not tell of it";
  const end = await waitFor(`the API to delete Node ${name}`, async (): Promise<StepEnd | null> => {
    const seen = await look(tools);
    if (seen === null) return null;
    if (seen.life === null) return { kind: "done", handed: { existed: true } };
    if (seen.isReady === true || seen.life.uid !== uid) return alive(`Node ${name} has come back`);
    const objection = await memberObjection(tools, name, seen.node);
    if (objection !== null) return objection;
    if (!tools.leads()) return await awaitLead(tools) ?? await deleteNode(tools);
    // As it was seen: one that is Ready again is refused by its version, and looked at once more.
    const removed = await ports.k8s.remove({ ...NODES, name }, { uid, ...versionOf(seen.node) });
    if (removed.ok) {
      const evidence = `Node ${name} gave no sign of life and is deleted`;
      return { kind: "done", handed: { existed: true }, evidence };
    }
    why = removed.error.message;
    return mayPass(removed.error) || isConflict(removed.error) ? null : notDeleted(name, why);
  });
  return end ?? notDeleted(name, why);
}

function isConflict(error: K8sError): boolean {
  return error.code === "refused" && error.status === 409;
}

function notDeleted(name: string, why: string): StepEnd {
  return { kind: "failed", message: `Node ${name} is not known to be deleted: ${why}` };
}

/** A Node as it is now. */
interface Look {
  readonly node: JsonObject;
  /** Null where there is none. */
  readonly life: NodeLife | null;
  /** Its Ready condition; null where it has none. */
  readonly isReady: boolean | null;
}

/** Null while the API does not answer. */
async function look({ ports, params, waitFor }: Tools): Promise<Look | null> {
  return await waitFor(`the API to show Node ${params.node}`, async () => {
    const node = await ports.k8s.get({ ...NODES, name: params.node });
    const lease = await ports.k8s.get({ ...NODE_LEASES, name: params.node });
    if (!node.ok || !lease.ok) return null;
    if (node.value === null) return { node: {}, life: null, isReady: null };
    const [life = null] = nodeLives([node.value], lease.value === null ? [] : [lease.value]);
    return { node: node.value, life, isReady: nodeReady(node.value) };
  });
}

function versionOf(node: JsonObject): { readonly resourceVersion?: string } {
  const resourceVersion = at(node, "metadata", "resourceVersion");
  return typeof resourceVersion === "string" ? { resourceVersion } : {};
}

const NO_ANSWER: StepEnd = { kind: "failed", message: "the API does not tell of the Node" };

function alive(how: string): StepEnd {
  const way =
    "only the Node of a server that is gone is forgotten: switch that off, and ask again when it is not Ready";
  return failed("node_alive", `${how}; ${way}`);
}

function failed(code: string, message: string): StepEnd {
  return { kind: "failed", code, message };
}
