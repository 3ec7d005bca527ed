import type { z } from "zod";

type Issue = z.core.$ZodIssue;

const MAX_LENGTH = 300;

/**
 * The first fault that a schema found, for people: where it is and which rule it breaks, such as
 * `desired.host.snapshots.retention: must be at most 1000`. It never shows a value, because any value
 * may be a secret that stands in the wrong place. `under` is the path of the document that was parsed.
 */
export function describeIssue(error: z.ZodError, under: readonly PropertyKey[] = []): string {
  const issue = error.issues[0];
  if (issue === undefined) return "does not match the schema";
  const path = pathText([...under, ...issue.path]);
  return shorten(path === "" ? ruleText(issue) : `${path}: ${ruleText(issue)}`);
}

function ruleText(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`;
    case "too_small":
      return amount(
        issue.origin,
        issue.inclusive === false ? "more than" : "at least",
        issue.minimum,
      );
    case "too_big":
      return amount(
        issue.origin,
        issue.inclusive === false ? "less than" : "at most",
        issue.maximum,
      );
    case "invalid_value":
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    case "unrecognized_keys":
      return `has the unknown field ${issue.keys.map(keyText).join(", ")}`;
    case "invalid_union":
      return "has none of the allowed forms";
    case "invalid_key":
      return `has a key that ${issue.issues[0]?.message ?? "is not allowed"}`;
    case "invalid_format":
      return issue.format === "datetime" ? "is no RFC 3339 time" : issue.message;
    default:
      return issue.message;
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "an object",
  record: "an object",
  array: "a list",
};

function amount(origin: string, relation: string, limit: number | bigint): string {
  const counted = COUNTED[origin];
  if (counted === undefined) return `must be ${relation} ${limit}`;
  return `must have ${relation} ${limit} ${limit === 1 ? counted.one : counted.many}`;
}

/** What a length counts, by what it is the length of. */
const COUNTED: Readonly<Record<string, { readonly one: string; readonly many: string }>> = {
  string: { one: "character", many: "characters" },
  array: { one: "entry", many: "entries" },
};

/** `a.b[2].c`; keys that would break the notation are quoted. */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`;
    return text === "" ? keyText(key) : `${text}.${keyText(key)}`;
  }, "");
}

function keyText(key: PropertyKey): string {
  const text = String(key);
  return /^[\w-]+$/.test(text) ? text : JSON.stringify(text);
}

function shorten(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 3)}...`;
}
