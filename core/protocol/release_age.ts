import type { Release } from "./release.ts";

/**
 * Old releases (trust.md T5). A release key signs each release once and for good, so whoever decides what is
 * offered could bring back an old one with a known hole. What a release is older than goes by `sequence`;
 * version strings are names.
 */

/** The parts of a manifest that say how old it is. */
export type ReleaseAge = Pick<Release, "version" | "sequence" | "minimum" | "expires_at">;

/** What a node remembers of the releases that it has seen. */
export interface ReleaseMemory {
  /** The highest `minimum` of any release that was ever verified: nothing below it is taken again. */
  readonly floor: number;
  /** The newest release that was accepted and runs; null before the first. */
  readonly newest: { readonly sequence: number; readonly version: string } | null;
}

/** What a release is judged with. */
export interface AgeFacts {
  readonly memory: ReleaseMemory;
  /** The release that the node runs, where its manifest is out of reach: no other is known to be as new. */
  readonly unknown: string | null;
  /** The latest time of every clock there is, milliseconds since the epoch: for refusing, it counts. */
  readonly latest: number;
  /** It is in use already: what runs stays. */
  readonly isInUse: boolean;
  /** The owner has keys, so an older release needs an approval. */
  readonly needsApproval: boolean;
  /** The owner approved this older release. */
  readonly isApproved: boolean;
}

/** The codes of refusals: results of operations, and conditions elsewhere. */
export const AGE_REFUSALS = ["release_older", "release_expired", "release_below_minimum"] as const;
/** One of them. */
export type AgeRefusalCode = (typeof AGE_REFUSALS)[number];

/** Whether a release may be taken. */
export type AgeVerdict =
  /** `older`: what is said about it as long as it is wanted; null where nothing is. */
  | { readonly kind: "accepted"; readonly older: string | null }
  | { readonly kind: "refused"; readonly code: AgeRefusalCode; readonly message: string };

/** The place of a release in their order; a manifest without one has 0. */
export function sequenceOf({ sequence }: Pick<Release, "sequence">): number {
  return sequence ?? 0;
}

/** Judges a release by its age. */
export function judgeAge(release: ReleaseAge, facts: AgeFacts): AgeVerdict {
  const { memory: { floor }, latest, isInUse, needsApproval, isApproved } = facts;
  const sequence = sequenceOf(release);
  const name = `release ${release.version} (sequence ${sequence})`;
  if (sequence < floor) {
    const message = `${name} is below the minimum sequence ${floor} that a signed release has set`;
    return { kind: "refused", code: "release_below_minimum", message };
  }
  const { expires_at } = release;
  if (!isInUse && expires_at !== undefined && Date.parse(expires_at) <= latest) {
    const message = `${name} expired at ${expires_at}: the portal must offer a newer one`;
    return { kind: "refused", code: "release_expired", message };
  }
  const older = whyOlder(name, sequence, facts);
  if (older === null) return { kind: "accepted", older };
  if (!needsApproval || isApproved) return { kind: "accepted", older };
  const message = `${older}: the owner must approve it (change older_release) in the desired state`;
  return { kind: "refused", code: "release_older", message };
}

/** Why a release counts as an older one; null where it does not. */
function whyOlder(name: string, sequence: number, { memory, unknown }: AgeFacts): string | null {
  const { newest } = memory;
  if (newest === null) {
    return unknown &&
      `${name} may be older than ${unknown}, which this node has and whose manifest is not available`;
  }
  if (sequence >= newest.sequence) return null;
  return `${name} is older than ${newest.version} (sequence ${newest.sequence})`;
}

/**
 * The memory after a release was verified: its minimum counts at once. `first`: the release that is the
 * newest where none is known yet, or null.
 */
export function afterVerified(
  memory: ReleaseMemory,
  release: ReleaseAge,
  first: ReleaseAge | null,
): ReleaseMemory {
  const floor = Math.max(memory.floor, release.minimum?.sequence ?? 0);
  const newest = memory.newest ?? (first && placeOf(first));
  return floor === memory.floor && newest === memory.newest ? memory : { floor, newest };
}

/** The memory after a sync with a release that was accepted and whose agent runs. */
export function afterRun(memory: ReleaseMemory, release: ReleaseAge): ReleaseMemory {
  const { newest } = memory;
  if (newest !== null && sequenceOf(release) <= newest.sequence) return memory;
  return { ...memory, newest: placeOf(release) };
}

function placeOf(release: ReleaseAge) {
  return { sequence: sequenceOf(release), version: release.version };
}

/** Whether a code says that a release is refused for its age. */
export function isAgeRefusal(code: string): code is AgeRefusalCode {
  return (AGE_REFUSALS as readonly string[]).includes(code);
}
