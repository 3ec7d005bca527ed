import { type Budget, spendSearch, TemplateFault } from "./budget.ts";
import { fromNow } from "./from_now.ts";
import { Builtin, isList, isMap, type Value } from "./values.ts";

/** Longest list that a template may count up: more than that many of anything is not in one add-on. */
const MAX_RANGE = 1_000;

/** The functions that expressions may call, by their names. */
export function builtins(budget: Budget): (readonly [string, Value])[] {
  const text = (value: Value | undefined): string => {
    if (typeof value !== "string") throw new TemplateFault("an argument that is not a text");
    budget.spendText(value.length);
    return value;
  };
  const number = (value: Value | undefined): number => {
    if (typeof value !== "number") throw new TemplateFault("an argument that is not a number");
    return value;
  };
  /** A function of `least` to `most` arguments. */
  const define = (
    name: string,
    [least, most]: readonly [number, number],
    call: Builtin["call"],
  ): readonly [string, Value] => [
    name,
    new Builtin((args, scope) => {
      if (args.length < least || args.length > most) {
        throw new TemplateFault(`${name} with too few or too many arguments`);
      }
      budget.spend(args.length);
      return call(args, scope);
    }),
  ];
  const ofNumber = (name: string, call: (value: number) => number) =>
    define(name, [1, 1], ([value]) => call(number(value)));
  const ofText = (name: string, call: (value: string) => Value) =>
    define(name, [1, 1], ([value]) => call(text(value)));
  const scalarText = (value: Value | undefined): string => {
    if (typeof value === "string") return text(value);
    if (value === undefined || (typeof value === "object" && value !== null)) {
      throw new TemplateFault("an argument that is neither a text, a number nor a truth value");
    }
    return String(value);
  };

  return [
    define("max", [1, Infinity], (args) => Math.max(...args.map(number))),
    define("min", [1, Infinity], (args) => Math.min(...args.map(number))),
    ofNumber("sqrt", Math.sqrt),
    ofNumber("ceil", Math.ceil),
    ofNumber("floor", Math.floor),
    ofNumber("abs", Math.abs),
    define("range", [2, 3], ([start, stop, step = 1]) => {
      const numbers = range(number(start), number(stop), number(step));
      budget.spend(numbers.length);
      return numbers;
    }),
    ofText("lowercase", (value) => value.toLowerCase()),
    ofText("uppercase", (value) => value.toUpperCase()),
    ofText("strip", (value) => value.trim()),
    ofText("rstrip", (value) => value.trimEnd()),
    ofText("lstrip", (value) => value.trimStart()),
    ofText("number", Number),
    define("str", [1, 1], ([value]) => scalarText(value)),
    define("len", [1, 1], ([value]) => {
      if (value !== undefined && isList(value)) return value.length;
      // Characters, not halves of them.
      return [...text(value)].length;
    }),
    define("split", [2, 2], ([value, separator]) => {
      const between = typeof separator === "number" ? String(separator) : text(separator);
      const whole = text(value);
      spendSearch(budget, whole.length, between.length);
      const parts = whole.split(between);
      budget.spend(parts.length);
      return parts;
    }),
    define("join", [2, 2], ([list, separator]) => {
      if (list === undefined || !isList(list)) {
        throw new TemplateFault("join of what is not a list");
      }
      const between = typeof separator === "number" ? String(separator) : text(separator);
      budget.spendText(between.length * list.length);
      return joined(list, between, budget);
    }),
    define(
      "fromNow",
      [1, 2],
      ([span, reference], scope) =>
        fromNow(text(span), reference === undefined ? scope.find("now") ?? null : text(reference)),
    ),
    define("typeof", [1, 1], ([value = null]) => typeOf(value)),
    define("defined", [1, 1], ([name], scope) => scope.find(text(name)) !== undefined),
  ];
}

function range(start: number, stop: number, step: number): number[] {
  const isWhole = [start, stop, step].every(Number.isInteger);
  const length = Math.ceil((stop - start) / step);
  if (!isWhole || !(length <= MAX_RANGE)) {
    throw new TemplateFault(`a range that is not one of whole numbers, ${MAX_RANGE} at most`);
  }
  return Array.from({ length: Math.max(length, 0) }, (_, index) => start + index * step);
}

/** The items between `separator`s; lists in a list with commas. */
function joined(list: readonly Value[], separator: string, budget: Budget): string {
  const parts = list.map((item) => {
    budget.spend(1);
    if (item === null) return "";
    if (isList(item)) return joined(item, ",", budget);
    if (item instanceof Builtin) throw new TemplateFault("a function that is not called");
    return isMap(item) ? "[object Object]" : String(item);
  });
  let length = 0;
  for (const part of parts) length += part.length + separator.length;
  budget.spendText(length);
  return parts.join(separator);
}

function typeOf(value: Value): string {
  if (value === null) return "null";
  if (isList(value)) return "array";
  return value instanceof Builtin ? "function" : typeof value;
}
