import type { Release } from "../protocol/release.ts";
import { afterRun, afterVerified, type ReleaseMemory } from "../protocol/release_age.ts";
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
  const noted = context.identity.current.releases;
  return Math.max(
    context.ports.clock.now(),
    correctedNow(context),
    noted === undefined ? 0 : Date.parse(noted.created_at),
  );
}

/**
 * Notes a release whose manifest was verified, whether it is taken or not: its minimum counts from now on,
 * and no time before it was made is believed when something is refused.
 */
export async function noteVerified(context: BoundContext, release: Release): Promise<void> {
  const noted = context.identity.current.releases;
  // Which release is the newest is decided when one is judged or runs.
  const { floor } = afterVerified(noted ?? NO_RELEASES, release);
  const memory = { floor, newest: noted?.newest ?? null };
  const isLater = noted === undefined ||
    Date.parse(release.created_at) > Date.parse(noted.created_at);
  if (noted !== undefined && memory.floor === noted.floor && !isLater) return;
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
