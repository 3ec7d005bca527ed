import { readLeaseHolder } from "../cluster/leader.ts";
import type { StepEnd, StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";

/** A lease that its holder left is taken within a minute and a quarter; the API may be slow beside that. */
const WAIT_MS = 120_000;

/**
 * Null once this node's agent leads the cluster; else how the step ends. Drains and the removal of Nodes
 * are the leader's: one that was cut short and comes back must not go on with what another was asked for
 * meanwhile.
 */
export async function awaitLead<P>(tools: StepTools<P>): Promise<StepEnd | null> {
  const what = "this node's agent to lead the cluster";
  const leads = await lookFor(
    tools,
    what,
    WAIT_MS,
    () => Promise.resolve(tools.leads() ? true : null),
  );
  if (leads === true) return null;
  const holder = await readLeaseHolder(tools.ports.k8s);
  const who = holder === null ? "nobody else is known to" : `${holder} does`;
  const message = `this node's agent does not lead the cluster (${who}): ask the one that leads`;
  return { kind: "failed", code: "not_leader", message };
}
