import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import type { LogFields, LogLevel } from "../core/ports/log.ts";
import { printable, printableOutput } from "../core/printable.ts";

/** Characters of one string in a log line; journald splits lines that grow too long. */
const LONGEST_STRING = 4_096;

/** The members that every line has; a field of the same name has to step aside. */
const OWN_NAMES: readonly string[] = ["time", "level", "event", "message"];

/** One line of the log, before it has a form. */
export interface LogRecord {
  /** RFC 3339, UTC, with milliseconds. */
  readonly time: string;
  readonly level: LogLevel;
  readonly event: string;
  readonly message: string;
  readonly fields: JsonObject;
}

/**
 * Makes a record. Fields become plain JSON here and now: a `Secret` is `[secret]`, later changes to an
 * object do not show, a value that JSON cannot hold is `[unprintable]`, a very long string is cut. A
 * field named like a member of the line is kept as `field_<name>`. `now`: milliseconds since the epoch.
 */
export function logRecord(
  now: number,
  level: LogLevel,
  event: string,
  message: string,
  fields: LogFields = {},
): LogRecord {
  const entries = Object.entries(fields).flatMap(([name, value]) => {
    const plain = toPlain(value);
    return plain === undefined ? [] : [[freeName(name, fields), plain] as const];
  });
  return {
    time: new Date(now).toISOString(),
    level,
    event,
    message: shorten(message),
    fields: Object.fromEntries(entries),
  };
}

/** The record as one JSON object on one line, without the line's end. */
export function jsonLine({ fields, ...own }: LogRecord): string {
  return printableOutput(JSON.stringify({ ...own, ...fields }));
}

/** The record as a line for people, without the line's end: `12:03:04 warn  event  message  key=value`. */
export function readableLine({ time, level, event, message, fields }: LogRecord): string {
  const clock = time.slice(time.indexOf("T") + 1, time.indexOf("."));
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${readableValue(value)}`);
  const parts = [`${clock} ${level.padEnd(5)} ${event}`, message, facts.join(" ")];
  return printable(parts.filter((part) => part !== "").join("  "));
}

function readableValue(value: JsonValue): string {
  const bare = typeof value === "string" && /^[^\s"=]+$/u.test(value);
  return bare ? value : JSON.stringify(value);
}

function freeName(name: string, taken: LogFields): string {
  if (!OWN_NAMES.includes(name)) return name;
  let free = `field_${name}`;
  while (Object.hasOwn(taken, free)) free = `field_${free}`;
  return free;
}

function toPlain(value: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : shortenAll(JSON.parse(text));
  } catch {
    return "[unprintable]";
  }
}

function shortenAll(value: JsonValue): JsonValue {
  if (typeof value === "string") return shorten(value);
  if (Array.isArray(value)) return value.map(shortenAll);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, shortenAll(inner)] as const);
  return Object.fromEntries(entries);
}

function shorten(text: string): string {
  if (text.length <= LONGEST_STRING) return text;
  return `${text.slice(0, LONGEST_STRING)}… (${text.length - LONGEST_STRING} more characters)`;
}
