const SHORTEST_MS = 1_000;
const LONGEST_MS = 3_600_000;
/** IMF-fixdate and the two obsolete forms all begin with a day's name (RFC 9110 §5.6.7). */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * The wait that a 429 asks for, in milliseconds, held to 1 s to 1 h; null where `Retry-After` is absent,
 * negative or unreadable (protocol §1). A date counts against the answer's own `Date`, else against
 * `correctedNow` (milliseconds since the epoch).
 */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  correctedNow: number,
): number | null {
  const value = headers["retry-after"]?.trim();
  if (value === undefined) return null;
  if (/^[0-9]+$/.test(value)) return held(Number(value) * 1000);
  const until = httpDate(value);
  if (until === null) return null;
  return held(until - (httpDate(headers["date"] ?? "") ?? correctedNow));
}

function httpDate(text: string): number | null {
  if (!HTTP_DATE.test(text)) return null;
  // asctime has no zone, and Date.parse would read it as local time.
  const at = Date.parse(/GMT$|[+-][0-9]{4}$/.test(text) ? text : `${text} GMT`);
  return Number.isNaN(at) ? null : at;
}

function held(ms: number): number {
  return Math.min(Math.max(ms, SHORTEST_MS), LONGEST_MS);
}
