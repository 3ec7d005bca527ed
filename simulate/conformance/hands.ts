import type { TokenEntry } from "./token_entry.ts";

/** What at a portal only its owner can do. Each says whether it was done; none throws. */
export interface Hands {
  /** More tokens, for nodes and clusters of their own; empty where there are none. */
  tokens(): Promise<readonly TokenEntry[]>;
  /** Offers an operation to the node, one with secrets where that can be chosen. */
  offer(node: TokenEntry): Promise<boolean>;
  /** Makes the next request of anybody a 429. */
  limit(): Promise<boolean>;
  /** Revokes the agent that is this node. */
  revoke(node: TokenEntry, agentId: string): Promise<boolean>;
}
