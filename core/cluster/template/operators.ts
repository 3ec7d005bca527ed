import { type Budget, TemplateFault } from "./budget.ts";
import { isList, isMap, isTruthy, merge, toJson, type Value, type ValueObject } from "./values.ts";
import { fromNow } from "./from_now.ts";
import type { Rendering } from "./values.ts";

/** An object with an operator, to its value. */
export type Operator = (template: ValueObject, rendering: Rendering) => Value;

/** In place of a part that a condition leaves out. */
export const LEFT_OUT: ValueObject = Object.freeze({});

const NAME = "[a-zA-Z_][a-zA-Z0-9_]*";
const EACH = new RegExp(`^each\\((${NAME})(?:,\\s*(${NAME}))?\\)$`);
const EACH_OF_REDUCE = new RegExp(`^each\\((${NAME}),\\s*(${NAME})(?:,\\s*(${NAME}))?\\)$`);
const BY = new RegExp(`^by\\((${NAME})\\)$`);

/** The operators of JSON-e (json-e.js.org, version 4), by the key that says them. */
export const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ["$eval", (template, { evaluate }) => {
    only(template, "$eval");
    return evaluate(textOf(template["$eval"]));
  }],
  ["$flatten", (template, rendering) => {
    only(template, "$flatten");
    return flatten(listOf(rendering.render(at(template, "$flatten"))), 1, rendering.budget);
  }],
  ["$flattenDeep", (template, rendering) => {
    only(template, "$flattenDeep");
    return flatten(
      listOf(rendering.render(at(template, "$flattenDeep"))),
      Infinity,
      rendering.budget,
    );
  }],
  ["$fromNow", (template, { render, scope }) => {
    only(template, "$fromNow", "from");
    const span = textOf(render(at(template, "$fromNow")));
    const from = isTruthy(template["from"] ?? null)
      ? render(at(template, "from"))
      : scope.find("now") ?? null;
    return fromNow(span, from);
  }],
  ["$if", (template, { evaluate, render }) => {
    only(template, "$if", "then", "else");
    const key = isTruthy(evaluate(textOf(template["$if"]))) ? "then" : "else";
    return Object.hasOwn(template, key) ? render(at(template, key)) : LEFT_OUT;
  }],
  ["$json", (template, { render, budget }) => {
    only(template, "$json");
    return toJson(render(at(template, "$json")), budget, true);
  }],
  ["$let", (template, { render, inner }) => {
    only(template, "$let", "in");
    const names = mapOf(at(template, "$let"));
    const values = Object.entries(mapOf(render(names)));
    for (const [name] of values) {
      if (!new RegExp(`^${NAME}$`).test(name)) {
        throw new TemplateFault("$let with an improper name");
      }
    }
    return inner(values).render(at(template, "in"));
  }],
  ["$map", (template, rendering) => {
    const [names, each] = eachOf(template, "$map", EACH);
    const over = rendering.render(at(template, "$map"));
    const [value = "", index] = names;
    if (isList(over)) {
      return over.map((item, at) =>
        rendering.inner([[value, item], ...named(index, at)]).render(each)
      ).filter((item) => item !== LEFT_OUT);
    }
    const maps = Object.entries(mapOf(over)).map(([key, val]) =>
      mapOf(
        rendering.inner(
          index === undefined ? [[value, { key, val }]] : [[value, val], [index, key]],
        ).render(each),
      )
    );
    return merge(maps.filter((map) => map !== LEFT_OUT), rendering.budget);
  }],
  ["$reduce", (template, rendering) => {
    const [names, each] = eachOf(template, "$reduce", EACH_OF_REDUCE, "initial");
    const [sum = "", value = "", index] = names;
    return listOf(rendering.render(at(template, "$reduce"))).reduce((before, item, at) => {
      const scope = [[sum, before], [value, item], ...named(index, at)] as const;
      const after = rendering.inner(scope).render(each);
      return after === LEFT_OUT ? before : after;
    }, at(template, "initial"));
  }],
  ["$find", (template, rendering) => {
    const [[value = "", index], each] = eachOf(template, "$find", EACH);
    const found = listOf(rendering.render(at(template, "$find"))).find((item, at) =>
      isTruthy(rendering.inner([[value, item], ...named(index, at)]).evaluate(textOf(each)))
    );
    return found ?? LEFT_OUT;
  }],
  ["$match", (template, rendering) => {
    only(template, "$match");
    return matching(mapOf(at(template, "$match")), rendering);
  }],
  ["$switch", (template, rendering) => {
    only(template, "$switch");
    const { $default: otherwise, ...conditions } = mapOf(at(template, "$switch"));
    const [first, ...more] = matching(conditions, rendering);
    if (more.length > 0) throw new TemplateFault("$switch with two conditions that hold");
    if (first !== undefined) return first;
    return otherwise === undefined ? LEFT_OUT : rendering.render(otherwise);
  }],
  ["$merge", (template, { render, budget }) => {
    only(template, "$merge");
    return merge(listOf(render(at(template, "$merge"))).map(mapOf), budget);
  }],
  ["$mergeDeep", (template, rendering) => {
    only(template, "$mergeDeep");
    const [first, ...more] = listOf(rendering.render(at(template, "$mergeDeep"))).map(mapOf);
    return more.reduce<Value>((into, map) => mergeDeep(into, map, rendering), first ?? {});
  }],
  ["$reverse", (template, { render, budget }) => {
    only(template, "$reverse");
    const list = listOf(render(at(template, "$reverse")));
    budget.spend(list.length);
    return list.toReversed();
  }],
  ["$sort", sort],
]);

function sort(template: ValueObject, rendering: Rendering): Value {
  const { budget } = rendering;
  const list = listOf(rendering.render(at(template, "$sort")));
  const byKey = Object.keys(template).find((key) => key !== "$sort");
  const by = byKey === undefined ? null : BY.exec(byKey)?.[1];
  only(template, "$sort", ...(byKey !== undefined && by !== undefined ? [byKey] : []));
  const tagged = list.map((item): readonly [Value, Value] => {
    if (by === null || by === undefined || byKey === undefined) return [item, item];
    const expression = textOf(template[byKey]);
    return [rendering.inner([[by, item]]).evaluate(expression), item];
  });
  const types = new Set(tagged.map(([tag]) => typeof tag));
  if (types.size > 1 || [...types].some((type) => type !== "number" && type !== "string")) {
    throw new TemplateFault("$sort by other values than numbers only or texts only");
  }
  // Each is compared with about as many others as the list can be halved.
  const rounds = Math.ceil(Math.log2(list.length + 1));
  for (const [tag] of tagged) {
    budget.spend(rounds);
    if (typeof tag === "string") { for (let n = 0; n < rounds; n++) budget.spendText(tag.length); }
  }
  return tagged.toSorted(([a], [b]) => {
    if (a === null || b === null || a === b) return 0;
    return a < b ? -1 : a > b ? 1 : 0;
  }).map(([, item]) => item);
}

function matching(conditions: ValueObject, { evaluate, render }: Rendering): Value[] {
  return Object.keys(conditions).sort()
    .filter((condition) => isTruthy(evaluate(condition)))
    .map((condition) => render(at(conditions, condition)));
}

function flatten(list: readonly Value[], depth: number, budget: Budget): Value[] {
  return list.flatMap((item) => {
    budget.spend(1);
    if (!isList(item)) return [item];
    budget.spend(item.length);
    return depth > 1 ? flatten(item, depth - 1, budget) : item;
  });
}

/** The right one counts; lists are put together, objects merged. */
function mergeDeep(left: Value, right: Value, rendering: Rendering): Value {
  const { budget } = rendering;
  budget.spend(1);
  if (isList(left) && isList(right)) {
    budget.spend(left.length + right.length);
    return [...left, ...right];
  }
  if (!isMap(left) || !isMap(right)) return right;
  const into = new Map(Object.entries(left));
  budget.spend(into.size);
  for (const [key, value] of Object.entries(right)) {
    const before = into.get(key);
    into.set(key, before === undefined ? value : mergeDeep(before, value, rendering));
  }
  return Object.fromEntries(into);
}

/** The names in `each(...)`, and what stands behind it. */
function eachOf(
  template: ValueObject,
  operator: string,
  pattern: RegExp,
  ...more: readonly string[]
): readonly [readonly string[], Value] {
  const keys = Object.keys(template).filter((key) => key !== operator && !more.includes(key));
  const names = pattern.exec(keys[0] ?? "")?.slice(1).filter((name) => name !== undefined);
  if (keys.length !== 1 || names === undefined) {
    throw new TemplateFault(`${operator} without one proper each(...)`);
  }
  return [names, at(template, keys[0] ?? "")];
}

function named(name: string | undefined, value: Value): readonly (readonly [string, Value])[] {
  return name === undefined ? [] : [[name, value]];
}

function only(template: ValueObject, ...allowed: readonly string[]): void {
  const unknown = Object.keys(template).some((key) => !allowed.includes(key));
  if (unknown) throw new TemplateFault(`${allowed[0]} with a key that it does not know`);
}

function at(template: ValueObject, key: string): Value {
  const value = Object.hasOwn(template, key) ? template[key] : undefined;
  if (value === undefined) throw new TemplateFault(`an operator without ${key}`);
  return value;
}

function textOf(value: Value | undefined): string {
  if (typeof value !== "string") throw new TemplateFault("what is not a text where one is needed");
  return value;
}

function listOf(value: Value): readonly Value[] {
  if (!isList(value)) throw new TemplateFault("what is not a list where one is needed");
  return value;
}

function mapOf(value: Value): ValueObject {
  if (!isMap(value)) throw new TemplateFault("what is not an object where one is needed");
  return value;
}
