const FIRST_STEP_MS = 5_000;
const LONGEST_MS = 300_000;

/** The last step: from here on the wait stays at five minutes. */
export const LONGEST_STEP = 6;

/**
 * How long to wait after the `failures`-th failure in a row (1 or more), in milliseconds: 5, 10, 20 ...
 * 300 s, each times 0.8 to 1.2, never over 300 s (protocol §1). `fraction`: random, in [0, 1).
 */
export function backoffMs(failures: number, fraction: number): number {
  const step = Math.min(Math.max(failures - 1, 0), LONGEST_STEP);
  const wait = Math.min(FIRST_STEP_MS * 2 ** step, LONGEST_MS);
  return Math.min(Math.round(wait * (0.8 + 0.4 * fraction)), LONGEST_MS);
}
