import { backoffMs } from "../protocol/backoff.ts";
import type { Hold, HoldReason, UpdateRecord } from "../state/update_record.ts";

/** How long a version that failed its check, its run or its trial is left alone, milliseconds. */
export const HOLD_MS = 21_600_000;
/** The longest step of the backoff after trouble, milliseconds. */
const TROUBLE_MS = 300_000;
/** Versions that are remembered; the portal names one at a time. */
const MAX_HOLDS = 20;

/** The record with `version` held. `now`: milliseconds; `fraction`: random, in [0, 1). */
export function hold(
  record: UpdateRecord,
  version: string,
  { reason, message, now, fraction }: {
    readonly reason: HoldReason;
    readonly message: string;
    readonly now: number;
    readonly fraction: number;
  },
): UpdateRecord {
  const before = record.holds[version];
  const failures = reason === "trouble" && before?.reason === "trouble" ? before.failures + 1 : 1;
  const wait = reason === "trouble" ? backoffMs(failures, fraction) : HOLD_MS;
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
  const most = entry.reason === "trouble" ? TROUBLE_MS : HOLD_MS;
  if (left <= most) return { held: entry, record };
  const held = { ...entry, again_at: new Date(now + most).toISOString() };
  return { held, record: { ...record, holds: { ...record.holds, [version]: held } } };
}
