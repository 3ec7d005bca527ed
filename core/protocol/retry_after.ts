const SHORTEST_MS = 1_000;
const LONGEST_MS = 3_600_000;
/** The three forms of a date in HTTP: IMF-fixdate, RFC 850's and asctime's (RFC 9110 §5.6.7). */
const HTTP_DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/,
  /^[MTWFS][a-z]{2,5}day, [0-9]{2}-[A-Z][a-z]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-9]{2} [0-9]{4}$/,
];

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
  const value = text.trim();
  // Date.parse alone takes far more than dates of HTTP.
  if (!HTTP_DATES.some((form) => form.test(value))) return null;
  // asctime has no zone, and Date.parse would read it as local time.
  const at = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(at) ? null : at;
}

function held(ms: number): number {
  return Math.min(Math.max(ms, SHORTEST_MS), LONGEST_MS);
}
