/** Why a pattern is not one that an option may have; without the pattern itself. */
export class PatternFault extends Error {}

/** A pattern, read. */
export type PatternNode =
  /** One character: a letter, an escape, a class or a dot, as it stands in the pattern. */
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "assertion"; readonly sign: Assertion }
  | { readonly kind: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | {
    readonly kind: "repeat";
    readonly item: PatternNode;
    readonly min: number;
    /** Infinity for no end. */
    readonly max: number;
  };

/** What holds between two characters. */
export type Assertion = "^" | "$" | "\\b" | "\\B";

/** Groups inside each other. */
const MAX_NESTED = 64;

const REPEAT = /(?:[*+?]|\{(?<min>\d+)(?<more>,(?<max>\d*))?\})\??/y;
const CLASS = /\[(?:\\.|[^\]\\])*\]/suy;
/** Two halves that are written as escapes are one character. */
const ESCAPE =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|u\{[\da-fA-F]+\}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|c[A-Za-z]|.)/suy;
const GROUP = /\((?:\?(?::|<(?![=!])[^>]*>))?/y;

/**
 * Reads a pattern of JSON Schema (ECMA-262 with the flag u). Look-around, back-references and flags inside of
 * it are refused: without them a text can be compared in time that grows with its length.
 *
 * Throws {@link PatternFault}.
 */
export function readPattern(source: string): PatternNode {
  try {
    // Whether it is a regular expression at all; nothing is compared with it.
    new RegExp(source, "u");
  } catch {
    throw new PatternFault("is not a regular expression of ECMA-262 with the flag u");
  }
  let at = 0;
  let depth = 0;

  function take(what: RegExp): RegExpExecArray | null {
    what.lastIndex = at;
    const found = what.exec(source);
    if (found !== null) at = what.lastIndex;
    return found;
  }

  function choice(): PatternNode {
    const options = [sequence()];
    while (source[at] === "|") {
      at++;
      options.push(sequence());
    }
    return { kind: "choice", options };
  }

  function sequence(): PatternNode {
    const items: PatternNode[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") {
      items.push(repeated(atom()));
    }
    return { kind: "sequence", items };
  }

  function repeated(item: PatternNode): PatternNode {
    const found = take(REPEAT);
    if (found === null) return item;
    const { min, more, max } = found.groups ?? {};
    switch (found[0][0]) {
      case "*":
        return { kind: "repeat", item, min: 0, max: Infinity };
      case "+":
        return { kind: "repeat", item, min: 1, max: Infinity };
      case "?":
        return { kind: "repeat", item, min: 0, max: 1 };
    }
    const least = Number(min);
    const most = more === undefined ? least : max === "" ? Infinity : Number(max);
    return { kind: "repeat", item, min: least, max: most };
  }

  function atom(): PatternNode {
    switch (source[at]) {
      case "^":
      case "$":
        return { kind: "assertion", sign: source[at++] === "^" ? "^" : "$" };
      case "(":
        return group();
      case "[":
        return { kind: "character", source: take(CLASS)?.[0] ?? "" };
      case "\\":
        return escape();
    }
    const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
    at += character.length;
    return { kind: "character", source: character };
  }

  function group(): PatternNode {
    if (/^\(\?<?[=!]/.test(source.slice(at, at + 4))) {
      throw new PatternFault(
        "has look-around, which a limit may not have: say what is allowed instead",
      );
    }
    const found = take(GROUP);
    if (found?.[0] === "(" && source[at] === "?") {
      throw new PatternFault(
        "has flags inside of it, which a limit may not have: write both cases out",
      );
    }
    if (++depth > MAX_NESTED) {
      throw new PatternFault(`has more than ${MAX_NESTED} groups inside each other`);
    }
    const inner = choice();
    depth--;
    at++;
    return inner;
  }

  function escape(): PatternNode {
    const next = source[at + 1] ?? "";
    if (/[1-9k]/.test(next)) {
      throw new PatternFault(
        "has a back-reference, which a limit may not have: write the part out",
      );
    }
    const text = take(ESCAPE)?.[0] ?? "";
    if (text === "\\b" || text === "\\B") return { kind: "assertion", sign: text };
    return { kind: "character", source: text };
  }

  return choice();
}

/** Whether everything that the pattern matches is the whole of a text. */
export function isAnchored(pattern: PatternNode): boolean {
  return pattern.kind === "choice" && pattern.options.every((option) => {
    const items = option.kind === "sequence" ? option.items : [];
    return isSign(items[0], "^") && isSign(items.at(-1), "$");
  });
}

function isSign(node: PatternNode | undefined, sign: Assertion): boolean {
  return node?.kind === "assertion" && node.sign === sign;
}
