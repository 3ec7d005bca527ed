import { backoffMs } from "../protocol/backoff.ts";
import type { Hold, HoldReason, UpdateRecord } from "../state/update_record.ts";

/** How long a version that failed its check, its run or its trial is left alone, milliseconds. */
export const HOLD_MS = 21_600_000;
/** A hold's end that is off by less is left as it is, milliseconds. */
const CLOSE_MS = 60_000;
/** Versions that are remembered; the portal names one at a time. */
const MAX_HOLDS = 20;

/**
 * The record with `version` held. `now`: milliseconds; `fraction`: random, in [0, 1); `leastMs`: trouble
 * is waited out at least so long.
 */
export function hold(
  record: UpdateRecord,
  version: string,
  { reason, message, now, fraction, leastMs = 0 }: {
    readonly reason: HoldReason;
    readonly message: string;
    readonly now: number;
    readonly fraction: number;
    readonly leastMs?: number;
  },
): UpdateRecord {
  const before = record.holds[version];
  const failures = reason === "trouble" && before?.reason === "trouble" ? before.failures + 1 : 1;
  const wait = reason === "trouble" ? Math.max(backoffMs(failures, fraction), leastMs) : HOLD_MS;
  const entry: Hold = {
    reason,
    message,
    at: new Date(now).toISOString(),
    again_at: new Date(now + wait).toISOString(),
    failures,
  };
  const others = Object.entries(record.holds).filter(([name]) => name !== version);
  return { ...record, holds: Object.fromEntries([...others, [version, entry]].slice(-MAX_HOLDS)) };
}

/**
 * Whether `version` has to wait, and the record to go on with: one whose clock was set back must not
 * wait for the days in between as well.
 */
export function heldBy(
  record: UpdateRecord,
  version: string,
  now: number,
): { readonly held: Hold | null; readonly record: UpdateRecord } {
  const entry = record.holds[version];
  if (entry === undefined) return { held: null, record };
  const left = Date.parse(entry.again_at) - now;
  if (left <= 0) return { held: null, record };
  const length = Date.parse(entry.again_at) - Date.parse(entry.at);
  if (left <= length) return { held: entry, record };
  const moved = holdFor(record, version, length, now);
  return { held: moved.holds[version] ?? entry, record: moved };
}

/**
 * The record with the hold of `version` ending in `leftMs`: what the monotonic clock says of a hold counts
 * more than a wall clock that was wrong when it was written.
 */
export function holdFor(
  record: UpdateRecord,
  version: string,
  leftMs: number,
  now: number,
): UpdateRecord {
  const entry = record.holds[version];
  if (entry === undefined) return record;
  const off = now + leftMs - Date.parse(entry.again_at);
  if (Math.abs(off) < CLOSE_MS) return record;
  const moved = (time: string) => new Date(Date.parse(time) + off).toISOString();
  const held = { ...entry, at: moved(entry.at), again_at: moved(entry.again_at) };
  return { ...record, holds: { ...record.holds, [version]: held } };
}
