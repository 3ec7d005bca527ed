import { fail, ok, type Result } from "../core/result.ts";
import { Rfc3339 } from "../core/protocol/identifiers.ts";

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const SPAN = /^([0-9]{1,5})([mhd])$/;
const DAY = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** What `--since` was given. */
export type Since = { readonly ms: number } | { readonly time: number };

/** Reads `--since`: a span back from now (`30m`, `12h`, `7d`), a day or a time. */
export function parseSince(text: string): Result<Since, string> {
  const [, count = "", unit = ""] = SPAN.exec(text) ?? [];
  const length = UNITS[unit];
  if (length !== undefined) return ok({ ms: Number(count) * length });
  const time = DAY.test(text) || Rfc3339.safeParse(text).success ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return ok({ time });
  return fail(
    `--since ${text}: write a span (30m, 12h, 7d), a day (2026-01-31) or a time ` +
      "(2026-01-31T08:00:00Z)",
  );
}

/** The time that it stands for, milliseconds since the epoch. */
export function sinceTime(since: Since, now: number): number {
  return "time" in since ? since.time : now - since.ms;
}
