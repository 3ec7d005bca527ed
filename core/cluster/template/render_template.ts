import type { JsonValue } from "../../json.ts";
import { type Budget, TemplateFault } from "./budget.ts";
import { evaluate } from "./evaluate.ts";
import { type Expression, parseExpression, parseUntilBrace } from "./expression.ts";
import { builtins } from "./functions.ts";
import { LEFT_OUT, OPERATORS } from "./operators.ts";
import {
  Builtin,
  isList,
  isMap,
  type Rendering,
  type Scope,
  scopeOf,
  toJson,
  type Value,
} from "./values.ts";

/** A text with expressions in it, read: pieces of text, and what stands between `${` and `}`. */
export type Pieces = readonly (string | Expression)[];

/** What was read once is not read again in a loop. */
interface Read {
  readonly expressions: Map<string, Expression>;
  readonly texts: Map<string, Pieces>;
}

/**
 * What a JSON-e template makes of `context`, as JSON text. Every step is taken from `budget` before it is
 * done: each part that is rendered, each part of an expression, and for lists and texts what they hold.
 *
 * Throws {@link TemplateFault} where the template is wrong, and `TooMuchWork`.
 */
export function renderTemplate(
  template: JsonValue,
  context: Readonly<Record<string, JsonValue>>,
  budget: Budget,
): string {
  const scope = scopeOf([...builtins(budget), ...Object.entries(context)]);
  const read: Read = { expressions: new Map(), texts: new Map() };
  const value = renderingIn(scope, budget, read).render(template);
  return value === LEFT_OUT ? "null" : toJson(value, budget);
}

function renderingIn(scope: Scope, budget: Budget, read: Read): Rendering {
  const rendering: Rendering = {
    scope,
    budget,
    render: (template) => render(template, rendering, read),
    evaluate: (source) => evaluate(expressionOf(source, budget, read), { scope, budget }),
    inner: (names) => {
      budget.spend(names.length);
      return renderingIn(scopeOf(names, scope), budget, read);
    },
  };
  return rendering;
}

function render(template: Value, rendering: Rendering, read: Read): Value {
  const { budget } = rendering;
  budget.spend(1);
  if (typeof template === "string") return interpolate(template, rendering, read);
  if (isList(template)) {
    return template.map((item, index) => within(`[${index}]`, () => rendering.render(item)))
      .filter((item) => item !== LEFT_OUT);
  }
  if (!isMap(template)) return template;
  const keys = Object.keys(template);
  budget.spend(keys.length);
  const operators = keys.filter((key) => OPERATORS.has(key));
  if (operators.length > 1) throw new TemplateFault("an object with two operators");
  const operator = OPERATORS.get(operators[0] ?? "");
  if (operator !== undefined) return operator(template, rendering);
  const entries: [string, Value][] = [];
  for (const key of keys) {
    const value = within(locationOf(key), () => rendering.render(template[key] ?? null));
    if (value !== LEFT_OUT) entries.push([keyOf(key, rendering, read), value]);
  }
  return Object.fromEntries(entries);
}

function keyOf(key: string, rendering: Rendering, read: Read): string {
  if (key.startsWith("$$")) return key.slice(1);
  if (/^\$[a-zA-Z][a-zA-Z0-9]*$/.test(key)) {
    throw new TemplateFault("a key like an operator, which has to begin with $$");
  }
  return interpolate(key, rendering, read);
}

function locationOf(key: string): string {
  return /^[a-zA-Z][a-zA-Z0-9]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

/** Adds the place to a fault on its way out. */
function within<T>(place: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof TemplateFault) cause.path.push(place);
    throw cause;
  }
}

function interpolate(text: string, { scope, budget }: Rendering, read: Read): string {
  // Nothing to replace, nearly always.
  budget.spendText(text.length);
  if (!text.includes("${")) return text;
  let made = "";
  for (const piece of piecesOf(text, read)) {
    const part = typeof piece === "string" ? piece : textIn(evaluate(piece, { scope, budget }));
    budget.spendText(part.length);
    made += part;
  }
  budget.spendText(made.length);
  return made;
}

function textIn(value: Value): string {
  if (isList(value) || isMap(value) || value instanceof Builtin) {
    throw new TemplateFault("a list, an object or a function in a text");
  }
  return value === null ? "" : String(value);
}

function piecesOf(text: string, read: Read): Pieces {
  const before = read.texts.get(text);
  if (before !== undefined) return before;
  const pieces = readPieces(text);
  read.texts.set(text, pieces);
  return pieces;
}

/** Reads a text with expressions in it; throws {@link TemplateFault} where one cannot be read. */
export function readPieces(text: string): Pieces {
  const pieces: (string | Expression)[] = [];
  let at = 0;
  for (let sign = text.indexOf("${"); sign >= 0; sign = text.indexOf("${", at)) {
    if (sign > at && text[sign - 1] === "$") {
      pieces.push(text.slice(at, sign - 1), "${");
      at = sign + 2;
      continue;
    }
    pieces.push(text.slice(at, sign));
    const { expression, end } = parseUntilBrace(text, sign + 2);
    pieces.push(expression);
    at = end;
  }
  pieces.push(text.slice(at));
  return pieces;
}

function expressionOf(source: string, budget: Budget, read: Read): Expression {
  const before = read.expressions.get(source);
  if (before !== undefined) return before;
  budget.spendText(source.length);
  const expression = parseExpression(source);
  read.expressions.set(source, expression);
  return expression;
}
