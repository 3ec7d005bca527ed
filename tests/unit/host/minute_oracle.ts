import type { Maintenance } from "../../../core/protocol/desired_state.ts";

const MINUTE = 60_000;
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** What a clock on the wall of a zone shows, minute after minute. */
export interface WallClock {
  readonly timeZone: string;
  /** Milliseconds since the epoch of the first reading. */
  readonly from: number;
  /** One reading a minute, as the milliseconds since the epoch that it would be in UTC. */
  readonly readings: readonly number[];
}

/** Reads the clock of a zone once a minute. */
export function watchWallClock(timeZone: string, from: number, until: number): WallClock {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    dateStyle: "short",
    timeStyle: "medium",
  });
  const readings: number[] = [];
  for (let at = from; at < until; at += MINUTE) {
    readings.push(Date.parse(format.format(at).replace(" ", "T") + "Z"));
  }
  return { timeZone, from, readings };
}

/**
 * The openings that somebody sees who watches the clock: a window opens when the clock shows its start for
 * the first time, and where the clock jumps over the start, as long after the jump as the start is past
 * the last reading before it.
 */
export function watchedOpenings(
  clock: WallClock,
  windows: Maintenance["windows"],
): { opensAt: number; closesAt: number }[] {
  const openings: { opensAt: number; closesAt: number }[] = [];
  let highest = clock.readings[0] ?? 0;
  for (const [index, reading] of clock.readings.entries()) {
    const instant = clock.from + index * MINUTE;
    const first = highest + MINUTE;
    for (let shown = first; shown <= reading; shown += MINUTE) {
      for (const { days, start, minutes } of windows) {
        const date = new Date(shown);
        if (date.toISOString().slice(11, 16) !== start) continue;
        if (!days.some((day) => WEEKDAYS.indexOf(day) === date.getUTCDay())) continue;
        // `shown` equals `reading` but for a jump, whose skipped minutes follow it one by one.
        const opensAt = shown === reading ? instant : instant + (shown - first);
        openings.push({ opensAt, closesAt: opensAt + minutes * MINUTE });
      }
    }
    highest = Math.max(highest, reading);
  }
  return openings.sort((a, b) => a.opensAt - b.opensAt);
}
