import { accessIssue } from "./access_issue.ts";
import { accessRevoke } from "./access_revoke.ts";
import { agentRotateKey } from "./agent_rotate_key.ts";
import { clusterRestore } from "./cluster_restore.ts";
import { clusterUpgrade } from "./cluster_upgrade.ts";
import { diagCollect } from "./diag_collect.ts";
import { nodeDrain } from "./node_drain.ts";
import { nodeForget } from "./node_forget.ts";
import { s3Verify } from "./s3_verify.ts";
import { serverRejoin } from "./server_rejoin.ts";
import { snapshotSave } from "./snapshot_save.ts";
import type { AnyDefinition } from "./definition.ts";

/** Every operation that this agent carries out; any other kind is `unsupported`. */
const OPERATIONS: readonly AnyDefinition[] = [
  accessIssue,
  accessRevoke,
  agentRotateKey,
  clusterRestore,
  clusterUpgrade,
  diagCollect,
  nodeDrain,
  nodeForget,
  s3Verify,
  serverRejoin,
  snapshotSave,
];

/** The definition of a kind, or null. */
export function definitionOf(kind: string): AnyDefinition | null {
  return OPERATIONS.find((definition) => definition.kind === kind) ?? null;
}
