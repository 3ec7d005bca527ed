/** One field of a cron schedule: its range, and the names that may stand for numbers. */
interface Field {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** The five fields as k3s's own parser (robfig/cron, standard) takes them. */
const FIELDS: readonly Field[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: MONTHS },
  { min: 0, max: 6, names: DAYS },
];

/**
 * Whether `text` is a five-field cron schedule that k3s would take (protocol §4). k3s refuses to start with
 * a bad one, so it is refused before it reaches a drop-in.
 *
 * Stricter than k3s's parser where that is lenient: fields are parted by exactly one blank, a list has no
 * empty member, a number has no sign and at most four digits, nothing follows a star but a step, and
 * neither descriptors such as `@daily` nor a leading `TZ=` are taken, for they are no five fields.
 */
export function isCronSchedule(text: string): boolean {
  const fields = text.split(" ");
  return fields.length === FIELDS.length &&
    FIELDS.every((field, index) => isField(fields[index] ?? "", field));
}

function isField(text: string, field: Field): boolean {
  return text.split(",").every((part) => isRange(part, field));
}

function isRange(text: string, field: Field): boolean {
  const [range, step, ...rest] = text.split("/");
  if (range === undefined || rest.length > 0) return false;
  if (step !== undefined && !(isNumber(step) && Number(step) > 0)) return false;
  if (range === "*" || range === "?") return true;
  // A single number with a step means from there to the field's maximum: valid whenever the number is.
  const [from, to, ...more] = range.split("-").map((bound) => valueOf(bound, field));
  if (from === undefined || from === null || to === null || more.length > 0) return false;
  const last = to ?? from;
  return from >= field.min && last <= field.max && from <= last;
}

function valueOf(text: string, field: Field): number | null {
  const name = field.names.indexOf(text.toLowerCase());
  if (name >= 0) return name + field.min;
  return isNumber(text) ? Number(text) : null;
}

function isNumber(text: string): boolean {
  return /^[0-9]{1,4}$/.test(text);
}

/** How often a valid schedule fires in the 365 days from 2026-01-01 UTC (trust.md T4). */
export function firingsInYear(schedule: string): number {
  const [minutes, hours, days, months, weekdays] = schedule.split(" ").map((text, index) =>
    matched(text, FIELDS[index] as Field)
  );
  if (!minutes || !hours || !days || !months || !weekdays) return 0;
  let count = 0;
  for (let day = 0; day < 365; day++) {
    const date = new Date(FIRST_DAY + day * DAY_MS);
    const isDay = days.values.has(date.getUTCDate());
    const isWeekday = weekdays.values.has(date.getUTCDay());
    // As cron has it: where both are restricted, either is enough.
    const fires = days.isAny || weekdays.isAny ? isDay && isWeekday : isDay || isWeekday;
    if (fires && months.values.has(date.getUTCMonth() + 1)) count++;
  }
  return count * minutes.values.size * hours.values.size;
}

const FIRST_DAY = Date.parse("2026-01-01T00:00:00Z");
const DAY_MS = 86_400_000;

/** The values that a field stands for. `isAny`: a part of it is a star, without a step beyond 1. */
function matched(text: string, field: Field): { values: Set<number>; isAny: boolean } {
  const values = new Set<number>();
  let isAny = false;
  for (const part of text.split(",")) {
    const [range = "", stepText] = part.split("/");
    const step = Number(stepText ?? 1);
    const isStar = range === "*" || range === "?";
    isAny ||= isStar && step === 1;
    const [from, to] = isStar
      ? [field.min, field.max]
      : range.split("-").map((bound) => valueOf(bound, field));
    const last = to ?? (stepText === undefined ? from : field.max);
    for (let value = from ?? 0; value <= (last ?? -1); value += step) values.add(value);
  }
  return { values, isAny };
}
