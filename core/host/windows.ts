import { type Maintenance, type MaintenanceWindow, WEEKDAYS } from "../protocol/desired_state.ts";
import { createZone } from "./zone.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** The epoch's own day, 1 January 1970, was a Thursday: the fourth of {@link WEEKDAYS}. */
const EPOCH_WEEKDAY = 3;

/**
 * The days around today whose windows can matter: a window lasts up to 24 hours and its start may be
 * moved by up to a day (a zone that crosses the date line skips one), and windows recur weekly.
 */
const DAYS_BACK = 2;
const DAYS_AHEAD = 8;

/** One occurrence of a maintenance window: instants in milliseconds, open from `opensAt` up to but without `closesAt`. */
export interface Opening {
  readonly opensAt: number;
  readonly closesAt: number;
  /** What clocks in the zone show when it opens, as the milliseconds since the epoch that it would be in UTC. */
  readonly opensAtWallClock: number;
}

/**
 * Whether `nowMs` (milliseconds since the epoch) lies inside one of the maintenance windows (protocol
 * §4). Without windows: never.
 *
 * A window opens when clocks in its zone show `start` on one of its days and stays open for `minutes` of
 * elapsed time, across midnight and across changes of the clocks. It is half-open, so windows that touch
 * leave no hole between them and the last moment belongs to none. A start that the clocks skip is moved
 * by the gap; one that occurs twice means the first.
 */
export function insideWindow(maintenance: Maintenance, nowMs: number): boolean {
  const next = nextWindow(maintenance, nowMs);
  return next !== null && next.opensAt <= nowMs;
}

/**
 * The window that is open at `nowMs`, else the one that opens next; null where there are none. Of several
 * the one that opens first.
 */
export function nextWindow(maintenance: Maintenance, nowMs: number): Opening | null {
  const zone = createZone(maintenance.timezone);
  const today = Math.floor(zone.wallClock(nowMs) / DAY);
  let next: { readonly opensAt: number; readonly closesAt: number } | null = null;
  for (let day = today - DAYS_BACK; day <= today + DAYS_AHEAD; day++) {
    for (const window of maintenance.windows) {
      if (!window.days.some((name) => WEEKDAYS.indexOf(name) === weekday(day))) continue;
      const opensAt = zone.instant(day * DAY + startOfWindow(window));
      const closesAt = opensAt + window.minutes * MINUTE;
      if (closesAt > nowMs && (next === null || opensAt < next.opensAt)) {
        next = { opensAt, closesAt };
      }
    }
  }
  return next === null ? null : { ...next, opensAtWallClock: zone.wallClock(next.opensAt) };
}

/**
 * The same search for one who asks again and again: anew only for other windows, or at a time at which the
 * answer may be another one. An opening that was found holds until it closes.
 */
export function openWindowSearch(): typeof nextWindow {
  let last:
    | { readonly of: Maintenance; readonly from: number; readonly next: Opening | null }
    | null = null;
  return (maintenance, nowMs) => {
    const holds = last?.of === maintenance && nowMs >= last.from &&
      (last.next === null || nowMs < last.next.closesAt);
    if (last === null || !holds) {
      last = { of: maintenance, from: nowMs, next: nextWindow(maintenance, nowMs) };
    }
    return last.next;
  };
}

/** The weekday of a day that is counted from the epoch's: 0 to 6, as in {@link WEEKDAYS}. */
function weekday(day: number): number {
  return (((day + EPOCH_WEEKDAY) % 7) + 7) % 7;
}

/** A window's `start` in milliseconds since midnight. */
function startOfWindow({ start }: MaintenanceWindow): number {
  return (Number(start.slice(0, 2)) * 60 + Number(start.slice(3))) * MINUTE;
}
