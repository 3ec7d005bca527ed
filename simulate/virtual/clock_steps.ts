import type { Random } from "../../core/ports/random.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** How far clocks step, from and to, milliseconds; each range is as likely as any other. */
const RANGES = [
  [SECOND, 30 * SECOND],
  [30 * SECOND, 5 * MINUTE],
  [5 * MINUTE, 12 * HOUR],
  [12 * HOUR, 5 * DAY],
  // As long as IDs are remembered, and a little more.
  [30 * DAY, 60 * DAY],
  [YEAR, 25 * YEAR],
] as const;

/** How far a clock steps, milliseconds either way: seconds to decades. */
export function drawStep(random: Random): number {
  const [which, how, sign] = [random.fraction(), random.fraction(), random.fraction()];
  const [from, to] = RANGES[Math.floor(which * RANGES.length)] ?? RANGES[0];
  const ms = Math.round(from * (to / from) ** how);
  return sign < 0.5 ? -ms : ms;
}

/** A length of time in words: `-40.3 days`. */
export function inWords(ms: number): string {
  const units = [["years", YEAR], ["days", DAY], ["hours", HOUR], ["minutes", MINUTE]] as const;
  const [name, length] = units.find(([, unit]) => Math.abs(ms) >= 2 * unit) ?? ["seconds", SECOND];
  return `${ms < 0 ? "-" : "+"}${Math.round(Math.abs(ms) / length * 10) / 10} ${name}`;
}
