import type { Release } from "../protocol/release.ts";
import { type AgeVerdict, judgeAge } from "../protocol/release_age.ts";
import type { BoundContext } from "./context.ts";
import { readBootstrap } from "./read_bootstrap.ts";
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
  const first = await firstRelease(context, releases, release);
  await keepProvenTime(context);
  await noteVerified(context, release, first.release);
  const isInUse = context.store.state.desired?.state.release === release.version;
  return judgeAge(release, {
    memory: context.identity.current.releases ?? NO_RELEASES,
    unknown: first.unknown,
    latest: latestTime(context),
    isInUse,
    needsApproval: context.config.trust.approvalKeys.length > 0,
    isApproved: isApproved || isInUse,
  });
}

/** The newest release of a node that has noted none yet. `unknown`: what it has is not known to be older. */
interface FirstRelease {
  readonly release: Release | null;
  readonly unknown: string | null;
}

/**
 * The newest is at first the release that the node was given first: on an agent from before this was noted
 * the one of the stored desired state, else the one of the enrollment, whichever answer is judged first.
 */
async function firstRelease(
  context: BoundContext,
  releases: Releases,
  judged: Release,
): Promise<FirstRelease> {
  const none: FirstRelease = { release: null, unknown: null };
  if ((context.identity.current.releases?.newest ?? null) !== null) return none;
  const stored = context.store.state.desired?.state.release;
  const given = stored ?? (await readBootstrap(context))?.answer.release;
  if (given === undefined || given === judged.version) return { ...none, release: judged };
  const found = await releases.get(context, given);
  if (found.ok) return { ...none, release: found.value };
  // An enrollment's release that is out of reach was never used; a stored one was.
  const isEnd = found.error.code === "stop" || found.error.code === "aborted";
  return isEnd || stored !== undefined ? { ...none, unknown: given } : { ...none, release: judged };
}

/** Notes at the start what an agent from before this was noted runs: a fetch may take its file's place. */
export async function noteStored(context: BoundContext, releases: Releases): Promise<void> {
  const stored = context.store.state.desired?.state.release;
  if ((context.identity.current.releases?.newest ?? null) !== null || stored === undefined) return;
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
