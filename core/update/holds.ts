import { backoffMs } from "../protocol/backoff.ts";
import type { Hold, HoldReason, UpdateRecord } from "../state/update_record.ts";
import { hasPassed, leftOf, sinceOf, type Witnesses } from "../state/witnesses.ts";

/** How long a version that failed its check, its run or its trial is left alone, milliseconds. */
export const HOLD_MS = 21_600_000;
/** An `again_at` that is off by less is left as it is, milliseconds. */
const CLOSE_MS = 60_000;
/** Versions whose trouble is remembered; the portal names one at a time. */
const MAX_TROUBLED = 20;
/** Versions that are held by evidence. With so many no other one is tried: none is dropped for its number. */
export const MAX_HELD = 100;

/** The record with `version` held. `fraction`: random, in [0, 1); `leastMs`: trouble is waited out at least so long. */
export function hold(
  record: UpdateRecord,
  version: string,
  { reason, message, witnesses: { now, livedMs }, fraction, leastMs = 0 }: {
    readonly reason: HoldReason;
    readonly message: string;
    readonly witnesses: Witnesses;
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
    lived_ms: livedMs,
    again_at: new Date(now + wait).toISOString(),
    failures,
  };
  const others = Object.entries(record.holds).filter(([name]) => name !== version);
  const [troubled, held] = [others.filter(isTroubled), others.filter((one) => !isTroubled(one))];
  const kept = [...held, ...troubled.slice(1 - MAX_TROUBLED)];
  return { ...record, holds: Object.fromEntries([...kept, [version, entry]]) };
}

/**
 * The record as it has to be kept from now on: every hold is counted by every witness, and says when it
 * ends. A hold of an earlier version of the program, which counted nothing, begins now.
 */
export function counted(record: UpdateRecord, witnesses: Witnesses): UpdateRecord {
  const entries = Object.entries(record.holds);
  return {
    ...record,
    holds: Object.fromEntries(entries.map(([name, entry]) => [name, countedOne(entry, witnesses)])),
  };
}

function countedOne(entry: Hold, witnesses: Witnesses): Hold {
  const since = { ...entry, ...sinceOf(entry, witnesses) };
  if (entry.reason === "trouble" || !witnesses.isCertain) {
    // It keeps its length, whatever a clock showed when it began.
    const moved = Date.parse(since.at) - Date.parse(entry.at);
    return { ...since, again_at: new Date(Date.parse(entry.again_at) + moved).toISOString() };
  }
  const end = witnesses.now + leftOf(HOLD_MS, since, witnesses);
  const isClose = Math.abs(end - Date.parse(entry.again_at)) < CLOSE_MS;
  return isClose ? since : { ...since, again_at: new Date(end).toISOString() };
}

/**
 * Whether a hold has ended. Evidence holds for six hours by every witness: a clock that is wrong for a
 * moment must not permit what broke the agent. Trouble is waited out by the monotonic clock alone, because
 * trying again too early costs nothing.
 */
export function isOver(entry: Hold, witnesses: Witnesses): boolean {
  if (entry.reason !== "trouble") return hasPassed(HOLD_MS, entry, witnesses);
  const length = Date.parse(entry.again_at) - Date.parse(entry.at);
  return entry.lived_ms !== undefined && witnesses.livedMs - entry.lived_ms >= length;
}

/** The hold that `version` has to wait for; null where it may be tried. */
export function heldBy(record: UpdateRecord, version: string, witnesses: Witnesses): Hold | null {
  const entry = record.holds[version];
  return entry === undefined || isOver(entry, witnesses) ? null : entry;
}

/** The holds that have not ended. */
export function current(holds: UpdateRecord["holds"], witnesses: Witnesses): UpdateRecord["holds"] {
  return Object.fromEntries(
    Object.entries(holds).filter(([, entry]) => !isOver(entry, witnesses)),
  );
}

/** When the first of the versions is free that evidence holds, where they are too many for another one; else null. */
export function fullUntil(record: UpdateRecord, witnesses: Witnesses): string | null {
  const held = Object.entries(current(record.holds, witnesses)).filter((one) => !isTroubled(one));
  if (held.length < MAX_HELD) return null;
  return held.map(([, { again_at }]) => again_at).sort()[0] ?? null;
}

function isTroubled([, { reason }]: readonly [string, Hold]): boolean {
  return reason === "trouble";
}
