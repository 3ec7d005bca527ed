/** The small rules that the oracles are made of. */
import type { Value } from "./strict_json.ts";

/** What a value must be. */
export type Rule = (value: Value | undefined) => boolean;

/** A string of that pattern. */
export const is = (pattern: RegExp): Rule => (value) =>
  typeof value === "string" && pattern.test(value);
/** Any string. */
export const text: Rule = (value) => typeof value === "string";
/** True or false. */
export const flag: Rule = (value) => typeof value === "boolean";
/** It may be absent. */
export const maybe = (rule: Rule): Rule => (value) => value === undefined || rule(value);
/** It may be null. */
export const orNull = (rule: Rule): Rule => (value) => value === null || rule(value);
/** A whole number within those bounds. */
export const whole = (from: number, to = Number.MAX_SAFE_INTEGER): Rule => (value) =>
  Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
/** A list of them. */
export const each = (rule: Rule): Rule => (value) => Array.isArray(value) && value.every(rule);
/** Anything that JSON holds; a number too large for JavaScript is none that the agent could store. */
export const anything: Rule = (value) =>
  typeof value === "number"
    ? Number.isFinite(value)
    : Array.isArray(value)
    ? value.every(anything)
    : value instanceof Map
    ? [...value.values()].every(anything)
    : value !== undefined;
/** An object whose values are all so. */
export const map = (rule: Rule): Rule => (value) =>
  value instanceof Map && [...value.values()].every(rule);

/** An object with those members; others are ignored, or make it wrong. */
export function object(rules: Readonly<Record<string, Rule>>, others: "ignored" | "refused"): Rule {
  return (value) =>
    value instanceof Map &&
    Object.entries(rules).every(([key, rule]) => rule(value.get(key))) &&
    (others === "ignored" || [...value.keys()].every((key) => Object.hasOwn(rules, key)));
}

/** A DNS-1123 label. */
export const label = is(/^(?=.{1,63}$)[a-z0-9]+(?:-+[a-z0-9]+)*$/);
/** A release version. */
export const version = is(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/);
/** An ID of an agent. */
export const id = is(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);
/** A sealed box. */
export const sealed = object({ sealed: text }, "refused");

/** An RFC 3339 time with a zone; the seconds may be left out. */
export const time: Rule = (value) => {
  if (typeof value !== "string") return false;
  const parts = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/
    .exec(value);
  if (parts === null) return false;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) =>
    Number(part ?? 0)
  ) as [number, number, number, number, number, number];
  const zone = /(\d\d):(\d\d)$/.exec(parts[7] ?? "");
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60 &&
    (zone === null || Number(zone[1]) < 24 && Number(zone[2]) < 60);
};

/** A member of an object, or undefined. */
export function member(value: Value | undefined, key: string): Value | undefined {
  return value instanceof Map ? value.get(key) : undefined;
}
