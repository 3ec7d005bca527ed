import { type Budget, TemplateFault } from "./budget.ts";

/** A function that expressions may call. */
export class Builtin {
  readonly call: (args: readonly Value[], scope: Scope) => Value;

  constructor(call: Builtin["call"]) {
    this.call = call;
  }
}

/** What an expression may give. */
export type Value = null | boolean | number | string | readonly Value[] | ValueObject | Builtin;
/** An object among them. */
export interface ValueObject {
  readonly [key: string]: Value;
}

/** The names that an expression may use; an inner one hides an outer one. */
export interface Scope {
  find(name: string): Value | undefined;
}

/** A template while it is rendered, with the names that are known at this place. */
export interface Rendering {
  readonly scope: Scope;
  readonly budget: Budget;
  render(template: Value): Value;
  evaluate(expression: string): Value;
  /** The same with more names. */
  inner(names: readonly (readonly [string, Value])[]): Rendering;
}

/** A scope with `names` inside of `outer`. */
export function scopeOf(names: Iterable<readonly [string, Value]>, outer?: Scope): Scope {
  const own = new Map(names);
  return { find: (name) => own.has(name) ? own.get(name) : outer?.find(name) };
}

/** Whether a value is a list. */
export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Whether a value is an object. */
export function isMap(value: Value): value is ValueObject {
  return typeof value === "object" && value !== null && !isList(value) &&
    !(value instanceof Builtin);
}

/** What counts as true: everything but null, false, 0 and what is empty. */
export function isTruthy(value: Value): boolean {
  if (isList(value)) return value.length > 0;
  if (isMap(value)) {
    for (const key in value) if (Object.hasOwn(value, key)) return true;
    return false;
  }
  // Not a number is not 0.
  return typeof value === "number" ? value !== 0 : Boolean(value);
}

/** Whether two values are the same in all their parts. */
export function isEqual(a: Value, b: Value, budget: Budget): boolean {
  budget.spend(1);
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) budget.spendText(a.length);
    return a === b;
  }
  if (isList(a) && isList(b)) {
    return a.length === b.length && a.every((one, index) => isEqual(one, b[index] ?? null, budget));
  }
  if (isMap(a) && isMap(b)) {
    const keys = Object.keys(a);
    budget.spend(keys.length);
    return keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key] ?? null, b[key] ?? null, budget));
  }
  return a === b;
}

/**
 * The value as JSON, keys in order where `sorted`. A part that stands in it a thousand times costs a
 * thousand times: it is that often in the text.
 */
export function toJson(value: Value, budget: Budget, sorted = false): string {
  budget.spend(1);
  if (value instanceof Builtin) throw new TemplateFault("a function that is not called");
  if (typeof value === "string") budget.spendText(value.length);
  if (isList(value)) return `[${value.map((one) => toJson(one, budget, sorted)).join(",")}]`;
  if (!isMap(value)) return JSON.stringify(value);
  const keys = Object.keys(value);
  const parts = (sorted ? keys.sort() : keys).map((key) => {
    budget.spendText(key.length);
    return `${JSON.stringify(key)}:${toJson(value[key] ?? null, budget, sorted)}`;
  });
  return `{${parts.join(",")}}`;
}

/** Objects into one; of equal keys the last one counts. */
export function merge(maps: readonly ValueObject[], budget: Budget): ValueObject {
  const entries = maps.flatMap((map) => {
    const own = Object.entries(map);
    budget.spend(1 + own.length);
    return own;
  });
  return Object.fromEntries(entries);
}
