import { type Budget, spendSearch, TemplateFault } from "./budget.ts";
import type { Expression } from "./expression.ts";
import { Builtin, isEqual, isList, isMap, isTruthy, type Scope, type Value } from "./values.ts";

/** What an expression is evaluated with. */
export interface Evaluation {
  readonly scope: Scope;
  readonly budget: Budget;
}

/** The value of an expression. */
export function evaluate(expression: Expression, evaluation: Evaluation): Value {
  const { scope, budget } = evaluation;
  const of = (part: Expression) => evaluate(part, evaluation);
  budget.spend(1);
  switch (expression.kind) {
    case "literal":
      return expression.value;
    case "name": {
      const value = scope.find(expression.name);
      if (value === undefined) throw new TemplateFault("a name that is not known here");
      return value;
    }
    case "unary": {
      const value = of(expression.operand);
      if (expression.sign === "!") return !isTruthy(value);
      return expression.sign === "-" ? -numberOf(value) : numberOf(value);
    }
    case "binary":
      if (expression.sign === "||" || expression.sign === "&&") {
        const left = isTruthy(of(expression.left));
        return left === (expression.sign === "||") ? left : isTruthy(of(expression.right));
      }
      return combine(expression.sign, of(expression.left), of(expression.right), budget);
    case "list":
      return expression.items.map(of);
    case "map":
      return Object.fromEntries(expression.entries.map(([key, value]) => [key, of(value)]));
    case "call": {
      const callee = of(expression.callee);
      if (!(callee instanceof Builtin)) throw new TemplateFault("a call of what is not a function");
      return callee.call(expression.args.map(of), scope);
    }
    case "access": {
      const value = of(expression.of);
      const from = expression.from === null ? 0 : of(expression.from);
      const to = expression.to === null ? null : of(expression.to);
      return access(value, { from, to, isSlice: expression.isSlice }, budget);
    }
  }
}

function numberOf(value: Value): number {
  if (typeof value !== "number") throw new TemplateFault("arithmetic with what is not a number");
  return value;
}

function combine(sign: string, left: Value, right: Value, budget: Budget): Value {
  const isText = typeof left === "string" && typeof right === "string";
  switch (sign) {
    case "==":
      return isEqual(left, right, budget);
    case "!=":
      return !isEqual(left, right, budget);
    case ".":
      if (!isMap(left) || typeof right !== "string" || !Object.hasOwn(left, right)) {
        throw new TemplateFault("a property that is not there");
      }
      return left[right] ?? null;
    case "in":
      return isIn(left, right, budget);
    case "+":
      if (!isText) return numberOf(left) + numberOf(right);
      budget.spendText(left.length + right.length);
      return left + right;
    case "-":
      return numberOf(left) - numberOf(right);
    case "*":
      return numberOf(left) * numberOf(right);
    case "/":
      if (numberOf(right) === 0) throw new TemplateFault("a division by zero");
      return numberOf(left) / numberOf(right);
    case "**":
      // The parser has what stands on the right as `left`: it binds to the right.
      return numberOf(left) ** numberOf(right);
  }
  if (isText) budget.spendText(Math.min(left.length, right.length));
  const [a, b] = isText ? [left, right] : [numberOf(left), numberOf(right)];
  if (sign === "<") return a < b;
  if (sign === "<=") return a <= b;
  return sign === ">" ? a > b : a >= b;
}

function isIn(what: Value, where: Value, budget: Budget): boolean {
  if (isList(where)) return where.some((one) => isEqual(what, one, budget));
  if (typeof what !== "string") throw new TemplateFault("'in' with what is not a text on its left");
  if (typeof where === "string") {
    spendSearch(budget, where.length, what.length);
    return where.includes(what);
  }
  if (!isMap(where)) throw new TemplateFault("'in' with neither a list, a text nor an object");
  return Object.hasOwn(where, what);
}

function access(
  value: Value,
  { from, to, isSlice }: {
    readonly from: Value;
    readonly to: Value | null;
    readonly isSlice: boolean;
  },
  budget: Budget,
): Value {
  if (isMap(value)) {
    if (typeof from !== "string") throw new TemplateFault("a key that is not a text");
    return Object.hasOwn(value, from) ? value[from] ?? null : null;
  }
  if (typeof value === "string") {
    budget.spendText(value.length);
    // By characters, not by halves of them.
    const isPlain = !/[\u0080-\uffff]/.test(value);
    const characters = isPlain ? value : [...value];
    const part = pick(characters, from, to, isSlice);
    return Array.isArray(part) ? part.join("") : part;
  }
  if (!isList(value)) throw new TemplateFault("an access to what is neither object, list nor text");
  if (isSlice) budget.spend(value.length);
  return pick(value, from, to, isSlice);
}

function pick<T>(
  items: string | readonly T[],
  from: Value,
  to: Value | null,
  isSlice: boolean,
): string | T | readonly T[] {
  const { length } = items;
  const within = (index: number) => index < 0 ? Math.max(0, length + index) : index;
  if (!isSlice) {
    if (!isWhole(from)) throw new TemplateFault("an index that is not a whole number");
    const item = items[within(from)];
    if (item === undefined) throw new TemplateFault("an index that is out of bounds");
    return item;
  }
  const end = to ?? length;
  if (!isWhole(from) || !isWhole(end)) throw new TemplateFault("bounds that are not whole numbers");
  return items.slice(Math.min(within(from), within(end)), within(end));
}

function isWhole(value: Value): value is number {
  return Number.isInteger(value);
}
