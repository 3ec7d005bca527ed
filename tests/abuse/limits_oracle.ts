/** Whether the limits of an option can be limits at all, with the language's own regular expressions. */
import {
  anything,
  each,
  flag,
  is,
  maybe,
  member,
  object,
  type Rule,
  text,
  whole,
} from "./rules.ts";
import type { Value } from "./strict_json.ts";

const TYPES: Readonly<Record<string, (value: Value | undefined) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  array: (value) => Array.isArray(value),
  object: (value) => value instanceof Map,
};

const members = object({
  type: is(/^(?:string|number|boolean|array|object)$/),
  required: maybe(flag),
  default: maybe(anything),
  secret: maybe(flag),
  pattern: maybe(text),
  enum: maybe((value) => each(anything)(value) && (value as Value[]).length > 0),
  minimum: maybe(isNumber),
  maximum: maybe(isNumber),
  maxLength: maybe(whole(0)),
  unlimited: maybe(flag),
}, "ignored");

/** The declaration of an option. */
export const option: Rule = (value) => members(value) && areLimits(value);

function isNumber(value: Value | undefined): boolean {
  return typeof value === "number" && Number.isFinite(value);
}

function areLimits(value: Value | undefined): boolean {
  const of = (name: string) => member(value, name);
  const isSecret = of("secret") === true;
  const type = isSecret ? "string" : String(of("type"));
  const isText = of("pattern") !== undefined || of("maxLength") !== undefined;
  const isNumeric = of("minimum") !== undefined || of("maximum") !== undefined;
  if (isText && (isNumeric || !["string", "array"].includes(type))) return false;
  if (isNumeric && !["number", "array"].includes(type)) return false;
  if (of("pattern") !== undefined && !isPattern(String(of("pattern")))) return false;
  const [low, high] = [of("minimum") ?? -Infinity, of("maximum") ?? Infinity];
  if (low > high) return false;
  const allowed = of("enum") as Value[] | undefined;
  if (allowed?.some((one) => TYPES[type]?.(one) !== true)) return false;
  const initial = of("default");
  if (initial === undefined || isSecret) return true;
  if (allowed !== undefined && !allowed.some((one) => textOf(one) === textOf(initial))) {
    return false;
  }
  if (TYPES[type]?.(initial) !== true) return true;
  return (Array.isArray(initial) ? initial : [initial]).every((one) =>
    (!isText || typeof one === "string" && isFitting(one, of("pattern"), of("maxLength"))) &&
    (!isNumeric || typeof one === "number" && one >= Number(low) && one <= Number(high))
  );
}

function isFitting(one: string, pattern: Value | undefined, most: Value | undefined): boolean {
  return (pattern === undefined || new RegExp(String(pattern), "u").test(one)) &&
    (most === undefined || Array.from(one).length <= Number(most));
}

/** What stands between the bars of the outermost level has to begin and end with an anchor. */
function isPattern(source: string): boolean {
  try {
    new RegExp(source, "u");
  } catch {
    return false;
  }
  const bare = source.replace(/\\[1-9k]/gu, "\0").replace(/\\./gsu, "e")
    .replace(/\[[^\]]*\]/gu, "c");
  if (bare.includes("\0") || /\(\?(?!:|<[^=!])/.test(bare)) return false;
  let flat = bare;
  for (let before = ""; before !== flat;) {
    before = flat;
    flat = flat.replace(/\((?:\?(?::|<[^>]*>))?[^()]*\)/g, "g");
  }
  return flat.split("|").every((part) => part.length > 1 && /^\^[^]*\$$/.test(part));
}

/** A value with its keys in order. */
function textOf(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(textOf)}]`;
  if (!(value instanceof Map)) return JSON.stringify(value === 0 ? 0 : value);
  return `{${[...value].sort(([a], [b]) => a < b ? -1 : 1).map(([k, v]) => `${k}:${textOf(v)}`)}}`;
}
