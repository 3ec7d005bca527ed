import type { BoundContext, Context } from "./context.ts";
import { judgeCluster } from "./custody.ts";
import { openCycleParts, sync } from "./cycle.ts";

/** How long a revoked agent waits before it asks again (protocol §1), milliseconds: 60 minutes, give or take 10. */
const ASK_AGAIN_MS = 3_600_000;
const SPREAD_MS = 600_000;

/** Waits until a revoked agent may ask again. */
export async function waitToKnock({ ports, stop }: Context): Promise<void> {
  await ports.clock.sleep(ASK_AGAIN_MS + SPREAD_MS * (2 * ports.random.fraction() - 1), stop);
}

/**
 * The one request that a revoked agent makes after a start, and then once an hour (protocol §1), so that a
 * portal's error heals by itself. True where the portal took it: the identity counts again. `pair`: with
 * which of the pairs that a rotation under way leaves; they take turns.
 */
export async function knock(context: BoundContext, pair: number): Promise<boolean> {
  const wait = context.channels.waitMs("sync");
  if (wait > 0) await context.ports.clock.sleep(wait, context.stop);
  if (context.stop.aborted) return false;
  const parts = openCycleParts(context);
  const observation = await parts.observer.observe(context);
  const look = await judgeCluster(context, observation.kubeSystemUid);
  const synced = await sync(context, parts, { ...observation, look }, { pair });
  return synced.end === "accepted";
}
