import type { Release } from "../protocol/release.ts";
import { type AgeVerdict, judgeAge } from "../protocol/release_age.ts";
import type { BoundContext } from "./context.ts";
import {
  keepProvenTime,
  latestTime,
  NO_RELEASES,
  noteRun,
  noteVerified,
} from "./release_memory.ts";
import type { Releases } from "./releases.ts";

/**
 * Judges a release that is named by an answer. `isApproved`: the desired state that names it has the owner's
 * approval for an older one.
 */
export async function judgeRelease(
  context: BoundContext,
  releases: Releases,
  release: Release,
  isApproved: boolean,
): Promise<AgeVerdict> {
  await rememberStored(context, releases);
  await keepProvenTime(context);
  await noteVerified(context, release);
  return judgeAge(release, {
    memory: context.identity.current.releases ?? NO_RELEASES,
    latest: latestTime(context),
    isInUse: context.store.state.desired?.state.release === release.version,
    needsApproval: context.config.trust.approvalKeys.length > 0,
    isApproved,
  });
}

/** An agent from before this was noted: the newest is the release that it runs, not the one offered first. */
async function rememberStored(context: BoundContext, releases: Releases): Promise<void> {
  const stored = context.store.state.desired?.state.release;
  if (context.identity.current.releases?.newest?.version !== undefined || stored === undefined) {
    return;
  }
  const found = await releases.atHand(context, stored);
  if (found !== null) await noteRun(context, found);
}

/** A sync succeeded: where the accepted release's own agent runs, it is the newest from now on. */
export async function noteSynced(context: BoundContext, releases: Releases): Promise<void> {
  const desired = context.store.state.desired?.state;
  const newest = context.identity.current.releases?.newest;
  const isRunning = desired !== undefined && desired.agent.version === context.program.version;
  if (!isRunning || newest?.version === desired.release) return;
  const found = await releases.atHand(context, desired.release);
  if (found !== null) await noteRun(context, found);
}
