import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { type Expression, parseExpression } from "../../../core/cluster/template/expression.ts";
import { readPieces } from "../../../core/cluster/template/render_template.ts";

/**
 * Which options a part of a template may be made of: by every branch, whatever conditions say. What is only
 * looked at, in a condition or a comparison, is no part of what is made.
 */
export interface Data {
  readonly options: ReadonlySet<string>;
  /** It is the object of all options itself, of which a single one can be taken. */
  readonly isWhole: boolean;
}

/** What the names of a template stand for. */
export interface Names {
  readonly known: ReadonlyMap<string, Data>;
  /** What all others may stand for, where a template makes names out of values. */
  readonly others: Data;
}

/** Of no option. */
export const NOTHING: Data = { options: new Set(), isWhole: false };

/** The names that a template begins with. */
export function firstNames(options: readonly string[]): Names {
  const whole = { options: new Set(options), isWhole: true };
  return { known: new Map([["options", whole]]), others: NOTHING };
}

/** What all of `parts` are made of. */
export function together(parts: readonly Data[]): Data {
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return first;
  return { options: new Set(parts.flatMap(({ options }) => [...options])), isWhole: false };
}

/** Functions whose value is a number or a truth value, whatever they are given. */
const COUNTING = [
  ...["len", "typeof", "defined", "number"],
  ...["max", "min", "sqrt", "ceil", "floor", "abs", "range"],
];

/** What the value of an expression is made of. */
export function dataOfExpression(expression: Expression, names: Names): Data {
  const of = (part: Expression) => dataOfExpression(part, names);
  switch (expression.kind) {
    case "literal":
    // Truth values and numbers.
    case "unary":
      return NOTHING;
    case "name":
      return names.known.get(expression.name) ?? names.others;
    case "binary":
      if (expression.sign === "+") return together([of(expression.left), of(expression.right)]);
      return expression.sign === "." ? memberOf(of(expression.left), expression.right) : NOTHING;
    case "list":
      return together(expression.items.map(of));
    case "map":
      return together(expression.entries.map(([, value]) => of(value)));
    case "call": {
      const { callee, args } = expression;
      if (callee.kind === "name" && COUNTING.includes(callee.name)) return NOTHING;
      return together([of(callee), ...args.map(of)]);
    }
    case "access":
      return memberOf(of(expression.of), expression.isSlice ? null : expression.from);
  }
}

/** Of the options one by its name; of anything else perhaps all of it. */
function memberOf({ options, isWhole }: Data, key: Expression | null): Data {
  const name = key?.kind === "literal" ? key.value : null;
  if (!isWhole || typeof name !== "string") return { options, isWhole: false };
  return { options: new Set(options.has(name) ? [name] : []), isWhole: false };
}

/** What a text with expressions in it is made of. */
export function dataOfText(text: string, names: Names): Data {
  return together(
    readPieces(text).map((piece) =>
      typeof piece === "string" ? NOTHING : dataOfExpression(piece, names)
    ),
  );
}

/** What a part of a template is made of when it is rendered. */
export function dataOf(part: JsonValue, names: Names): Data {
  if (typeof part === "string") return dataOfText(part, names);
  if (Array.isArray(part)) return together(part.map((item) => dataOf(item, names)));
  if (!isJsonObject(part)) return NOTHING;
  const operation = operationOf(part, names);
  if (operation === null) {
    return together(
      Object.entries(part).flatMap(([key, value]) => [
        dataOfText(key, names),
        dataOf(value, names),
      ]),
    );
  }
  if (operation.expression !== null) return dataOfExpression(operation.expression, names);
  return together([
    operation.more,
    ...operation.parts.map((one) => dataOf(one.part, one.names)),
  ]);
}

/** What an object with an operator of JSON-e is rendered from. */
export interface Operation {
  readonly operator: string;
  /** That of `$eval`. */
  readonly expression: Expression | null;
  /** What may stand in its place, each with the names that it knows. */
  readonly parts: readonly { readonly part: JsonValue; readonly names: Names }[];
  /** What the parts are not, and the value may be made of all the same. */
  readonly more: Data;
}

/** The operators whose value is one of the parts in them, or is put together of these. */
const PASSING = ["$flatten", "$flattenDeep", "$reverse", "$sort", "$merge", "$mergeDeep"];
/** The others that are known. */
const OTHERS = [
  ...["$eval", "$if", "$let", "$map", "$reduce", "$find", "$match", "$switch"],
  ...["$json", "$fromNow"],
];

/** The operation that an object of a template is; null for one without an operator. */
export function operationOf(
  template: { readonly [key: string]: JsonValue },
  names: Names,
): Operation | null {
  const operator = Object.keys(template).find((key) => [...PASSING, ...OTHERS].includes(key));
  if (operator === undefined) return null;
  const operand = template[operator] ?? null;
  const passing = (parts: readonly JsonValue[], known = names, more = NOTHING): Operation => ({
    operator,
    expression: null,
    parts: parts.map((part) => ({ part, names: known })),
    more,
  });
  switch (operator) {
    case "$eval":
      return {
        ...passing([]),
        expression: typeof operand === "string" ? parseExpression(operand) : null,
      };
    case "$if":
      return passing([template["then"] ?? null, template["else"] ?? null]);
    case "$let":
      return passing([template["in"] ?? null], withLet(operand, names));
    case "$map":
    case "$reduce": {
      const key = Object.keys(template).find((one) => one.startsWith("each(")) ?? "";
      const body = template[key] ?? null;
      const initial = template["initial"] ?? null;
      const over = together([dataOf(operand, names), dataOf(initial, names)]);
      const first = withEach(key, over, names);
      if (operator === "$map") return passing([body], first);
      // What one round made the next one goes on with.
      const all = together([over, dataOf(body, first)]);
      return passing([body, initial], withEach(key, all, names));
    }
    case "$find":
      return passing([], names, dataOf(operand, names));
    case "$match":
    case "$switch":
      return passing(isJsonObject(operand) ? Object.values(operand) : []);
    default:
      return passing([operand]);
  }
}

function withLet(bound: JsonValue, names: Names): Names {
  const isPlain = isJsonObject(bound) && operationOf(bound, names) === null &&
    !Object.keys(bound).some((name) => name.includes("$"));
  if (isPlain) {
    return withNames(
      Object.entries(bound).map(([name, value]) => [name, dataOf(value, names)]),
      names,
    );
  }
  // Names out of values: each name may be one of them.
  const more = dataOf(bound, names);
  return {
    known: new Map(
      [...names.known].map(([name, before]) => [
        name,
        { options: together([before, more]).options, isWhole: false },
      ]),
    ),
    others: together([names.others, more, { ...NOTHING }]),
  };
}

function withEach(key: string, { options }: Data, names: Names): Names {
  const each = key.slice("each(".length).replace(/\).*$/s, "").split(",");
  return withNames(each.map((name) => [name.trim(), { options, isWhole: false }]), names);
}

function withNames(more: readonly (readonly [string, Data])[], { known, others }: Names): Names {
  return { known: new Map([...known, ...more]), others };
}
