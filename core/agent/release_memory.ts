import type { Release } from "../protocol/release.ts";
import { afterRun, afterVerified, type ReleaseMemory } from "../protocol/release_age.ts";
import { takeProvenTime } from "./approval_memory.ts";
import type { BoundContext } from "./context.ts";
import { correctedNow } from "./context.ts";

/** What identity.json holds about releases. */
type Noted = NonNullable<BoundContext["identity"]["current"]["releases"]>;

/** What a node remembers that has seen no release yet. */
export const NO_RELEASES: ReleaseMemory = { floor: 0, newest: null };

/**
 * The latest time of every clock there is, milliseconds since the epoch. For refusing it counts, so that no
 * clock that is set back brings an expired release or approval to life again.
 */
export function latestTime(context: BoundContext): number {
  const { releases: noted, proven_time } = context.identity.current;
  return Math.max(
    context.ports.clock.now(),
    correctedNow(context),
    noted === undefined ? 0 : Date.parse(noted.created_at),
    proven_time === undefined ? 0 : Date.parse(proven_time),
    context.approvals.confirmed,
  );
}

/** How far apart the proven times are that are kept without a reason, milliseconds. */
const KEEP_EVERY_MS = 86_400_000;

/** Takes the time that a proven answer says, milliseconds since the epoch. Kept at most once a day. */
export async function noteProvenTime(context: BoundContext, time: number): Promise<void> {
  takeProvenTime(context.approvals, time, context.ports.clock.monotonic());
  const kept = Date.parse(context.identity.current.proven_time ?? new Date(0).toISOString());
  if (context.approvals.confirmed >= kept + KEEP_EVERY_MS) await keepProvenTime(context);
}

/** Keeps the highest proven time on the disk: asked for whenever an approval or a release is judged. */
export async function keepProvenTime(context: BoundContext): Promise<void> {
  const { confirmed } = context.approvals;
  const kept = context.identity.current.proven_time;
  if (confirmed === 0 || (kept !== undefined && Date.parse(kept) >= confirmed)) return;
  const proven_time = new Date(confirmed).toISOString();
  const changed = await context.identity.change((now) => ({ ...now, proven_time }));
  if (!changed.ok) context.ports.log.write("warn", "proven_time_not_noted", changed.error.message);
}

/**
 * Notes a release whose manifest was verified, whether it is taken or not: its minimum counts from now on,
 * and no time before it was made is believed when something is refused. `first`: the newest where none is
 * known yet; what is only fetched leaves that open.
 */
export async function noteVerified(
  context: BoundContext,
  release: Release,
  first: Release | null = null,
): Promise<void> {
  const noted = context.identity.current.releases;
  const memory = afterVerified(noted ?? NO_RELEASES, release, first);
  const isLater = noted === undefined ||
    Date.parse(release.created_at) > Date.parse(noted.created_at);
  if (memory === noted && !isLater) return;
  await note(context, { ...memory, created_at: isLater ? release.created_at : noted.created_at });
}

/** A release runs: it is the newest where none was newer. */
export async function noteRun(context: BoundContext, release: Release): Promise<void> {
  const noted = context.identity.current.releases;
  const memory = afterRun(noted ?? NO_RELEASES, release);
  if (memory === noted) return;
  await note(context, { ...memory, created_at: noted?.created_at ?? release.created_at });
}

async function note(context: BoundContext, releases: Noted): Promise<void> {
  const changed = await context.identity.change((now) => ({ ...now, releases }));
  // What is not noted now is noted by the next look.
  if (!changed.ok) context.ports.log.write("warn", "release_not_noted", changed.error.message);
}
