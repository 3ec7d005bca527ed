import type { Leader } from "../cluster/leader.ts";
import type { ClusterLook } from "../state/custody.ts";
import type { State } from "../state/state.ts";
import { custodyBy } from "./custody.ts";

/** What leading depends on beside the state. */
export interface LeadFacts {
  readonly leader: Leader;
  /** Of the only server of a cluster the agent leads while its API is up. */
  readonly apiUp: boolean;
  readonly look: ClusterLook;
}

/**
 * Whether this node's agent leads the cluster (operations.md, Leader): on one server while the API is up,
 * of several the one that holds the lease. Never where the agent may not act on the cluster.
 */
export function leadsCluster(state: State, { leader, apiUp, look }: LeadFacts): boolean {
  if (custodyBy(state, look).who !== "agent") return false;
  return (state.desired?.state.servers ?? 1) === 1 ? apiUp : leader.leads();
}
