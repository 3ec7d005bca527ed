import { isJsonObject, type JsonValue } from "../json.ts";
import { compilePattern, matches, type Work } from "./pattern/pattern.ts";

/**
 * What a template says of the values of an option, with the meaning of JSON Schema. Those of a text hold for
 * each entry of a list of texts, those of a number for each entry of a list of numbers; `enum` is about the
 * whole value.
 */
export interface OptionLimits {
  readonly pattern?: string | undefined;
  readonly enum?: readonly JsonValue[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  /** In characters (code points). */
  readonly maxLength?: number | undefined;
}

/** An option as far as its limits need it. A secret one is a text, whatever its type is called. */
export interface LimitedOption extends OptionLimits {
  readonly type: "string" | "number" | "boolean" | "array" | "object";
  readonly secret?: boolean | undefined;
  readonly default?: JsonValue | undefined;
}

/** A limit that a value breaks: where in a list it stands, and the limit with its name. */
export interface BrokenLimit {
  readonly entry: number | null;
  /** What breaks it: the value, or the entry of the list. */
  readonly value: JsonValue;
  readonly limit: string;
}

/** A limit that cannot be one of its option: the member of the declaration, and why. */
export interface MalformedLimit {
  readonly member: keyof OptionLimits | "default";
  readonly why: string;
}

/** The first limit of a declaration that cannot be one; null where all can. */
export function malformedLimit(option: LimitedOption, work: Work): MalformedLimit | null {
  return malformedMember(option) ?? defaultFault(option, work);
}

function malformedMember(option: LimitedOption): MalformedLimit | null {
  const { pattern, minimum, maximum } = option;
  const type = typeOf(option);
  for (const member of [...OF_TEXTS, ...OF_NUMBERS]) {
    const fitting: readonly string[] = isOfTexts(member) ? ["string", "array"] : [
      "number",
      "array",
    ];
    if (option[member] !== undefined && !fitting.includes(type)) {
      const of = option.secret === true ? "a secret option" : `an option of type ${type}`;
      return { member, why: `is not a limit that ${of} can have` };
    }
  }
  if (hasAny(option, OF_TEXTS) && hasAny(option, OF_NUMBERS)) {
    const member = OF_NUMBERS.find((one) => option[one] !== undefined) ?? "minimum";
    return { member, why: "stands beside a limit of texts: an entry cannot be both" };
  }
  if (pattern !== undefined) {
    const compiled = compilePattern(pattern);
    if (!compiled.ok) return { member: "pattern", why: compiled.error };
  }
  if (minimum !== undefined && maximum !== undefined && minimum > maximum) {
    return { member: "minimum", why: `${minimum} is above maximum ${maximum}` };
  }
  return malformedEnum(option);
}

function malformedEnum(option: LimitedOption): MalformedLimit | null {
  const values = option.enum;
  if (values === undefined) return null;
  const type = typeOf(option);
  const other = values.findIndex((value) => jsonTypeOf(value) !== type);
  return other < 0 ? null : { member: "enum", why: `entry ${other} is not of type ${type}` };
}

/** A default that its own limits refuse. */
function defaultFault(option: LimitedOption, work: Work): MalformedLimit | null {
  if (option.default === undefined || option.secret === true) return null;
  const broken = brokenLimit(option, option.default, work);
  return broken === null ? null : { member: "default", why: `breaks the limit ${broken.limit}` };
}

/**
 * The first limit that `value` breaks, or null. A value of another type than the option's is none of the
 * limits' business, but an entry of a list that limits of texts or of numbers hold for has to be one.
 */
export function brokenLimit(
  option: LimitedOption,
  value: JsonValue,
  work: Work,
): BrokenLimit | null {
  const allowed = option.enum;
  if (allowed !== undefined) {
    if (!allowed.some((one) => isSame(one, value))) {
      return { entry: null, value, limit: `enum ${JSON.stringify(allowed)}` };
    }
  }
  const faultOf = checkOf(option, work);
  if (faultOf === null) return null;
  if (typeOf(option) !== "array") {
    const limit = jsonTypeOf(value) === typeOf(option) ? faultOf(value) : null;
    return limit === null ? null : { entry: null, value, limit };
  }
  for (const [entry, one] of (Array.isArray(value) ? value : []).entries()) {
    const limit = faultOf(one);
    if (limit !== null) return { entry, value: one, limit };
  }
  return null;
}

/** What limits of texts or of numbers say of one value; null where there are none. */
function checkOf(
  option: LimitedOption,
  work: Work,
): ((value: JsonValue) => string | null) | null {
  const { pattern, minimum, maximum, maxLength } = option;
  if (hasAny(option, OF_NUMBERS)) {
    return (value) => {
      if (minimum !== undefined && !(typeof value === "number" && value >= minimum)) {
        return `minimum ${minimum}`;
      }
      return maximum !== undefined && !(typeof value === "number" && value <= maximum)
        ? `maximum ${maximum}`
        : null;
    };
  }
  if (!hasAny(option, OF_TEXTS)) return null;
  const compiled = pattern === undefined ? null : compilePattern(pattern);
  return (value) => {
    if (maxLength !== undefined && !(typeof value === "string" && !isLonger(value, maxLength))) {
      return `maxLength ${maxLength}`;
    }
    if (compiled === null) return null;
    const isMatch = compiled.ok && typeof value === "string"
      ? matches(compiled.value, value, work)
      : false;
    if (isMatch === true) return null;
    return `pattern ${pattern}${isMatch === null ? " (comparing takes too much work)" : ""}`;
  };
}

/** Whether two values are the same in JSON Schema's sense: the order of keys means nothing, and -0 is 0. */
function isSame(one: JsonValue, other: JsonValue): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => isSame(item, other[at] ?? null));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key] ?? null, other[key] ?? null));
}

/** Whether the text has more characters; halves of one (surrogates) are not counted twice. */
function isLonger(text: string, most: number): boolean {
  return text.length > most && [...text].length > most;
}

const OF_TEXTS = ["pattern", "maxLength"] as const;
const OF_NUMBERS = ["minimum", "maximum"] as const;

function isOfTexts(member: string): boolean {
  return OF_TEXTS.some((one) => one === member);
}

function hasAny(option: LimitedOption, members: readonly (keyof OptionLimits)[]): boolean {
  return members.some((member) => option[member] !== undefined);
}

function typeOf({ type, secret }: LimitedOption): string {
  return secret === true ? "string" : type;
}

function jsonTypeOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
