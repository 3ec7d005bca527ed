import type { Secret } from "../../secret.ts";
import type { StepTools } from "../definition.ts";
import { lookAtQuorum } from "../rejoin/quorum.ts";
import type { RestoreParams } from "./params.ts";

/** Where k3s on this node takes other servers. */
export const OWN_SERVER = "https://127.0.0.1:6443";

/**
 * What is against a restore where the cluster has several servers: the others that run. They would go on
 * as the cluster of before beside the restored one, with the same names, keys and buckets. Where this
 * node's own k3s does not run, or has no majority, there is nobody to ask who they are.
 *
 * @param token the one that k3s runs with now
 */
export async function otherServersFindings(
  { ports, node }: StepTools<RestoreParams>,
  token: Secret | null,
): Promise<readonly string[]> {
  if ((node.desired?.servers ?? 1) === 1 || token === null) return [];
  const view = await ports.servers.look(OWN_SERVER, token);
  if (!view.ok) return [];
  const { healthyOthers } = await lookAtQuorum(ports, node, view.value);
  if (healthyOthers.length === 0) return [];
  const names = healthyOthers.map(({ name }) => name.replace(/-[0-9a-f]{8}$/, "")).sort();
  return [
    `these other servers run on: ${
      names.join(", ")
    }; they would go on as a second cluster of the same ` +
    "name: stop k3s on them or switch them off first, and let them rejoin (server.rejoin) one by one " +
    "after the restore",
  ];
}
