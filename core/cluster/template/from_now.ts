import { TemplateFault } from "./budget.ts";
import type { Value } from "./values.ts";

/** Longest span that is read: all units with the longest numbers that mean anything. */
const MAX_SPAN = 200;
const DAY_MS = 24 * 3_600_000;

const SPAN = new RegExp(
  [
    "^(?:\\s*(?<sign>-|\\+))?",
    "(?:\\s*(?<years>\\d+)\\s*(?:y|year|years|yr))?",
    "(?:\\s*(?<months>\\d+)\\s*(?:months|month|mo))?",
    "(?:\\s*(?<weeks>\\d+)\\s*(?:weeks|week|wk|w))?",
    "(?:\\s*(?<days>\\d+)\\s*(?:days|day|d))?",
    "(?:\\s*(?<hours>\\d+)\\s*(?:hours|hour|hr|h))?",
    "(?:\\s*(?<minutes>\\d+)\\s*(?:minutes|minute|min|m))?",
    "(?:\\s*(?<seconds>\\d+)\\s*(?:seconds|second|sec|s))?",
    "\\s*$",
  ].join(""),
  "i",
);

/** Milliseconds of each unit; years and months are 365 and 30 days. */
const UNITS = {
  years: 365 * DAY_MS,
  months: 30 * DAY_MS,
  weeks: 7 * DAY_MS,
  days: DAY_MS,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
};

/** The time that is `span` (`2 days 3 hours`, `-1 hour`) after `reference`, RFC 3339; null for none. */
export function fromNow(span: string, reference: Value): string | null {
  const groups = span.length > MAX_SPAN ? undefined : SPAN.exec(span)?.groups;
  if (groups === undefined || typeof reference !== "string") {
    throw new TemplateFault("a span of time that cannot be read");
  }
  let ms = 0;
  for (const [unit, each] of Object.entries(UNITS)) ms += Number(groups[unit] ?? 0) * each;
  return new Date(Date.parse(reference) + (groups["sign"] === "-" ? -ms : ms)).toJSON();
}
