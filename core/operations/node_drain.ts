import { defineOperation } from "./definition.ts";
import { cordon } from "./drain/cordon.ts";
import { evict, report } from "./drain/evict.ts";
import { DrainParams } from "./drain/params.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

/**
 * Empties a node for work on it: no new Pods, and those that can be evicted go, as far as their budgets
 * allow. Pods of DaemonSets and mirror Pods belong to the node. Pods with an emptyDir are left and named
 * in `remaining` unless `delete_emptydir` says otherwise: whoever asked decides about them. Done, the Node stays cordoned. Carried out by the leader.
 */
export const nodeDrain = defineOperation({
  kind: "node.drain",
  params: DrainParams,
  needsApi: true,
  needsServers: true,
  steps: {
    cordon: { timeoutMs: TIMEOUT_MS.kubernetes, run: cordon },
    evict: { timeoutMs: TIMEOUT_MS.drain, run: evict },
    report: { timeoutMs: TIMEOUT_MS.kubernetes, run: report },
  },
  output: ({ evicted, remaining }) => ({ evicted: evicted ?? 0, remaining: remaining ?? [] }),
});
