import type { BoundContext } from "./context.ts";
import { judgeCluster } from "./custody.ts";
import { openCycleParts, sync } from "./cycle.ts";

/**
 * The one request that a revoked agent makes after a start (protocol §1). True where the portal took
 * it: the identity counts again. Anything else leaves the agent idle until its next start.
 */
export async function knock(context: BoundContext): Promise<boolean> {
  const wait = context.channels.waitMs("sync");
  if (wait > 0) await context.ports.clock.sleep(wait, context.stop);
  if (context.stop.aborted) return false;
  const parts = openCycleParts(context);
  const observation = await parts.observer.observe(context);
  const look = await judgeCluster(context, observation.kubeSystemUid);
  const synced = await sync(context, parts, { ...observation, look }, true);
  return synced.end === "accepted";
}
