import { TemplateFault } from "./budget.ts";

/** An expression, read. */
export type Expression =
  | { readonly kind: "literal"; readonly value: null | boolean | number | string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "unary"; readonly sign: string; readonly operand: Expression }
  | {
    readonly kind: "binary";
    readonly sign: string;
    readonly left: Expression;
    readonly right: Expression;
  }
  | { readonly kind: "list"; readonly items: readonly Expression[] }
  | { readonly kind: "map"; readonly entries: readonly (readonly [string, Expression])[] }
  | { readonly kind: "call"; readonly callee: Expression; readonly args: readonly Expression[] }
  | {
    readonly kind: "access";
    readonly of: Expression;
    readonly isSlice: boolean;
    readonly from: Expression | null;
    readonly to: Expression | null;
  };

interface Token {
  readonly kind: string;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const BLANKS = /\s*/y;
const TOKEN =
  /(?<sign>\*\*|[-+*\/[\].(){}:,]|>=|<=|<|>|==|!=|!|&&|\|\|)|(?<word>(?:true|false|in|null)(?![a-zA-Z_0-9]))|(?<number>[0-9]+(?:\.[0-9]+)?)|(?<identifier>[a-zA-Z_][a-zA-Z_0-9]*)|(?<string>'[^']*'|"[^"]*")/y;

/** Signs by how strongly they bind, the weakest first; the last one binds to the right. */
const LEVELS = [
  ["||"],
  ["&&"],
  ["in"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["+", "-"],
  ["*", "/"],
  ["**"],
];

/** Brackets and signs before a value inside of each other: the stack takes some hundred. */
const MAX_NESTED = 64;

/** Reads the whole of `source`. */
export function parseExpression(source: string): Expression {
  const { expression, next } = parseFrom(source, 0);
  if (next !== null) throw new TemplateFault("words after the end of an expression");
  return expression;
}

/** Reads the expression that begins at `start` and ends before a `}`; `end`: behind it. */
export function parseUntilBrace(
  source: string,
  start: number,
): { readonly expression: Expression; readonly end: number } {
  const { expression, next } = parseFrom(source, start);
  if (next?.kind !== "}") throw new TemplateFault("an expression that does not end with }");
  return { expression, end: next.end };
}

/** Reads one expression; `next`: the token behind it. Nothing behind that is looked at. */
function parseFrom(
  source: string,
  start: number,
): { readonly expression: Expression; readonly next: Token | null } {
  let token = tokenAt(source, start);
  let depth = 0;

  function is(...kinds: readonly string[]): boolean {
    return token !== null && kinds.includes(token.kind);
  }

  function take(kind?: string): Token {
    if (token === null || (kind !== undefined && token.kind !== kind)) {
      throw new TemplateFault("an expression that cannot be read");
    }
    const taken = token;
    token = tokenAt(source, taken.end);
    return taken;
  }

  function expression(level = 0): Expression {
    const signs = LEVELS[level] ?? [];
    const isLast = level === LEVELS.length - 1;
    let left = isLast ? access() : expression(level + 1);
    while (is(...signs)) {
      const sign = take().kind;
      const right = nested(() => expression(isLast ? level : level + 1));
      left = { kind: "binary", sign, left, right };
    }
    return left;
  }

  function nested<T>(read: () => T): T {
    if (++depth > MAX_NESTED) throw new TemplateFault("an expression that is nested too deep");
    const done = read();
    depth--;
    return done;
  }

  function access(): Expression {
    let of = unit();
    while (is("[", "(", ".")) {
      const { kind } = take();
      if (kind === ".") {
        const right = { kind: "literal", value: take("identifier").text } as const;
        of = { kind: "binary", sign: ".", left: of, right };
      } else if (kind === "(") {
        of = { kind: "call", callee: of, args: listUntil(")") };
      } else {
        of = nested(() => accessIn(of));
      }
    }
    return of;
  }

  function accessIn(of: Expression): Expression {
    const from = is(":") ? null : expression();
    const isSlice = is(":");
    if (isSlice) take(":");
    const to = is("]") ? null : expression();
    take("]");
    return { kind: "access", of, isSlice, from, to };
  }

  function listUntil(end: string): Expression[] {
    const items: Expression[] = [];
    nested(() => {
      if (!is(end)) items.push(expression());
      while (items.length > 0 && is(",")) {
        take(",");
        items.push(expression());
      }
    });
    take(end);
    return items;
  }

  function map(): Expression {
    const entries: [string, Expression][] = [];
    while (is("string", "identifier")) {
      const { kind, text } = take();
      take(":");
      entries.push([kind === "string" ? text.slice(1, -1) : text, nested(expression)]);
      if (is("}")) break;
      take(",");
    }
    take("}");
    return { kind: "map", entries };
  }

  function unit(): Expression {
    const { kind, text } = take();
    switch (kind) {
      case "-":
      case "+":
      case "!":
        return { kind: "unary", sign: kind, operand: nested(unit) };
      case "number":
        return { kind: "literal", value: Number(text) };
      case "string":
        return { kind: "literal", value: text.slice(1, -1) };
      case "true":
      case "false":
        return { kind: "literal", value: kind === "true" };
      case "null":
        return { kind: "literal", value: null };
      case "identifier":
        return { kind: "name", name: text };
      case "(": {
        const inner = nested(expression);
        take(")");
        return inner;
      }
      case "[":
        return { kind: "list", items: listUntil("]") };
      case "{":
        return map();
    }
    throw new TemplateFault("an expression that cannot be read");
  }

  return { expression: expression(), next: token };
}

function tokenAt(source: string, at: number): Token | null {
  BLANKS.lastIndex = at;
  BLANKS.exec(source);
  const start = BLANKS.lastIndex;
  if (start >= source.length) return null;
  TOKEN.lastIndex = start;
  const groups = TOKEN.exec(source)?.groups;
  if (groups === undefined) throw new TemplateFault("an expression with a character of no meaning");
  const { sign, word, number, identifier, string } = groups;
  const text = sign ?? word ?? number ?? identifier ?? string ?? "";
  const kind = sign ?? word ??
    (number !== undefined ? "number" : identifier !== undefined ? "identifier" : "string");
  return { kind, text, start, end: TOKEN.lastIndex };
}
