import type { ClockAnchor, ClockRecord } from "../state/clock_record.ts";

/**
 * The decisions about time, as functions of readings. No single reading of a wall clock, the node's or the
 * portal's, decides what cannot be undone: within a boot the corrected time runs on the monotonic clock
 * from what the portal said last, and a reading that contradicts it has to be confirmed by another one.
 * All times are milliseconds; a wall clock's since the Unix epoch.
 */

/** Readings further apart than this contradict each other (protocol §1 takes no request beyond it). */
export const CONTRADICTION_MS = 60_000;
/** Readings closer than this say the same: the way of an answer takes time, and seconds are whole. */
const JITTER_MS = 2_000;
/**
 * How much of its time a clock may gain or lose by slewing (adjtimex limits it to 500 ppm) and by its
 * crystal, which is no step.
 */
const DRIFT = 0.001;
/**
 * How long a portal has to tell the same new time where the node's own clocks say another: the same as for
 * the highest time that refuses an approval (trust.md T4).
 */
export const CONFIRM_MS = 60_000;

/** What keeps the corrected time from being certain. */
export type Doubt =
  /** Nothing was heard of the portal since the boot: the wall clock alone says how long that took. */
  | { readonly kind: "boot" }
  /** The wall clock went another way than the monotonic one: one of them is wrong. */
  | { readonly kind: "step" }
  /** The portal said a time that contradicts the one before; `since` on the monotonic clock. */
  | { readonly kind: "answer"; readonly since: number };

/** Both clocks of the node at one moment. */
export interface Reading {
  readonly wall: number;
  readonly monotonic: number;
}

/** What the machine says of its boot; null where it does not say. */
export interface Boot {
  readonly id: string | null;
  readonly uptimeMs: number | null;
}

/** The corrected time at a reading; from there it runs on the monotonic clock. */
export interface Bridged {
  readonly corrected: number;
  readonly doubt: Doubt | null;
}

/**
 * The corrected time at the start of a process. Within the boot of the stored anchor the machine's uptime
 * carries it on, whatever was done to the wall clock; over a boot only the wall clock can. An uptime that
 * stands still while the wall clock went on (a lab's file) carries nothing.
 */
export function bridge(
  record: ClockRecord,
  offsetMs: number,
  wall: number,
  boot: Boot,
): Bridged {
  const byWall: Bridged = { corrected: wall + offsetMs, doubt: { kind: "boot" } };
  const { anchor } = record;
  if (anchor === null || boot.id !== anchor.boot_id || boot.uptimeMs === null) return byWall;
  const passed = boot.uptimeMs - anchor.uptime_s * 1000;
  const passedByWall = wall - Date.parse(anchor.wall);
  const isStill = passed === 0 && Math.abs(passedByWall) > CONTRADICTION_MS;
  if (passed < 0 || isStill) return byWall;
  const isStep = Math.abs(passedByWall - passed) > CONTRADICTION_MS + passed * DRIFT;
  // The uptime has whole seconds. The time must not go back behind that of a request that was signed just
  // before the restart: the same second would give the same signature (protocol §1).
  const elapsed = isStep ? passed + 1_000 : Math.max(passed, passedByWall);
  const corrected = Date.parse(anchor.portal) + elapsed;
  return { corrected, doubt: isStep ? { kind: "step" } : null };
}

/**
 * What is known of the time when a process starts. An offset that was still in doubt when it was stored is
 * signed with, as before the start, but its doubt outlives the process and the boot: the portal's clock that
 * told it may be as wrong as it was.
 */
export function known(
  record: ClockRecord,
  offsetMs: number,
  { wall, monotonic }: Reading,
  boot: Boot,
): Known {
  const { corrected, doubt } = bridge(record, offsetMs, wall, boot);
  const certain = doubt?.kind === "boot" ? null : corrected;
  if (record.offset_in_doubt !== true) return { expected: corrected, certain, doubt };
  return { expected: wall + offsetMs, certain, doubt: { kind: "answer", since: monotonic } };
}

/** Whether the wall clock was set between two readings. */
export function isStep(before: Reading, now: Reading): boolean {
  const passed = now.monotonic - before.monotonic;
  return Math.abs(now.wall - before.wall - passed) > CONTRADICTION_MS + passed * DRIFT;
}

/** A time that the portal told. The answer was made at some moment between `sent` and `received`. */
export interface Told {
  readonly portal: number;
  /** On the monotonic clock. */
  readonly sent: number;
  readonly received: Reading;
}

/** What is known of the time at a reading. */
export interface Known {
  /** The corrected time. */
  readonly expected: number;
  /** What the last certain time of this boot has become on the monotonic clock; null: there was none. */
  readonly certain: number | null;
  readonly doubt: Doubt | null;
}

/**
 * What a told time means for the corrected time. The portal is followed at once, since requests have to be
 * signed with its time; whether that time is certain is another matter. One that contradicts what was
 * expected needs a second witness: the node's wall clock, what was certain before, or later answers for
 * {@link CONFIRM_MS}. Two answers in a row are no two witnesses: the request that a 409 refused is repeated
 * at once, and meets the same clock.
 */
export function judgeTold(told: Told, { expected, certain, doubt }: Known): Bridged {
  const { portal, sent, received } = told;
  const took = received.monotonic - sent;
  const isNear = (time: number, limit: number) =>
    portal >= time - took - limit && portal <= time + limit;
  const corrected = isNear(expected, JITTER_MS) ? expected : portal;
  const byWall = doubt?.kind !== "step" && isNear(received.wall, CONTRADICTION_MS);
  const byCertain = certain !== null && isNear(certain, CONTRADICTION_MS);
  if (byWall || byCertain) return { corrected, doubt: null };
  if (!isNear(expected, CONTRADICTION_MS)) {
    return { corrected, doubt: { kind: "answer", since: received.monotonic } };
  }
  if (doubt?.kind !== "answer") return { corrected, doubt: null };
  const isConfirmed = received.monotonic - doubt.since >= CONFIRM_MS;
  return { corrected, doubt: isConfirmed ? null : doubt };
}

/** What is stored of a corrected time, to carry it over a restart of the agent; null where nothing can. */
export function anchorOf(corrected: number, wall: number, boot: Boot): ClockAnchor | null {
  if (boot.id === null || boot.uptimeMs === null) return null;
  // A wall clock may show a year that RFC 3339 cannot say.
  if (!isSayable(corrected) || !isSayable(wall)) return null;
  return {
    portal: new Date(corrected).toISOString(),
    wall: new Date(wall).toISOString(),
    boot_id: boot.id,
    uptime_s: Math.floor(boot.uptimeMs / 1000),
  };
}

function isSayable(time: number): boolean {
  return time >= 0 && time < Date.UTC(9999, 11);
}
