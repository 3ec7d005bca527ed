/**
 * Whether a time has passed by every clock there is, for what is forgotten or permitted then: an operation's
 * ID (protocol §5), a used approval, a version that failed. One clock can be wrong for a moment, so all of
 * them have to agree.
 */

/** What the clocks say now. */
export interface Witnesses {
  /** The corrected time, milliseconds since the epoch. */
  readonly now: number;
  /** Whether that time is certain. */
  readonly isCertain: boolean;
  /** For how long the agent has run in all, by its monotonic clock, milliseconds. */
  readonly livedMs: number;
}

/** When something was noted, by the same clocks. */
export interface Since {
  /** RFC 3339. */
  readonly at: string;
  /** Left out by a version that did not count it. */
  readonly lived_ms?: number | undefined;
}

/** How long an ID is remembered at least. */
export const REMEMBERED_MS = 30 * 24 * 3_600_000;

/** Whether every witness says that it is 30 days old. */
export function mayForget(since: Since, witnesses: Witnesses): boolean {
  return hasPassed(REMEMBERED_MS, since, witnesses);
}

/** Whether every witness says that `ms` have passed since. An uncertain time says nothing. */
export function hasPassed(ms: number, since: Since, witnesses: Witnesses): boolean {
  return witnesses.isCertain && leftOf(ms, since, witnesses) <= 0;
}

/** How long it takes until every witness says that `ms` have passed, if nothing is wrong with them. */
export function leftOf(ms: number, { at, lived_ms }: Since, { now, livedMs }: Witnesses): number {
  return ms - Math.min(now - Date.parse(at), livedMs - (lived_ms ?? livedMs));
}

/**
 * Since when it counts, as it has to be noted from now on. A note from the future was written by a clock that
 * was wrong, or by a life that was lost with state.json: its time begins now, by that clock.
 */
export function sinceOf(
  { at, lived_ms }: Since,
  { now, isCertain, livedMs }: Witnesses,
): { readonly at: string; readonly lived_ms: number } {
  return {
    at: isCertain && Date.parse(at) > now ? new Date(now).toISOString() : at,
    lived_ms: Math.min(lived_ms ?? livedMs, livedMs),
  };
}
