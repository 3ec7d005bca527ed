import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import type { Agent } from "./state.ts";

/** What an enrollment binds an agent to. */
export type Bound = Pick<Agent, "id" | "clusterId" | "nodeName" | "serverId" | "arch" | "keys">;

/** Takes an agent in, as one that has not been heard of since. */
export function admitAgent(portal: Portal, bound: Bound): void {
  const agent: Agent = {
    ...bound,
    enrolledAt: portal.now(),
    previous: null,
    retired: [],
    revoked: false,
    lastSyncAt: null,
    report: null,
  };
  portal.state.agents.set(agent.id, agent);
  lookupIn(portal).note(agent);
}
