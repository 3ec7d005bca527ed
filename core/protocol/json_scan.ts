import { numberFault } from "./json_number.ts";
import { pathText } from "./schema_error.ts";

/** What a JSON text may not hold beyond the grammar, beside two equal keys in one object. */
export interface JsonRules {
  /** Most levels of objects and arrays inside each other. */
  readonly maxDepth: number;
  /** Keys that no object may have. */
  readonly forbiddenKeys: ReadonlySet<string>;
}

/** A value that would not stay what it is: a number that loses digits, a text with half a character. */
export interface UnfitValue {
  /** The member of the whole document that it stands in, or "" where it stands in none of them. */
  readonly within: string;
  /** Where it is and why it does not stay; never the value. */
  readonly message: string;
}

/** What a scan found. */
export interface JsonFindings {
  /** The first breach of the rules, in words, or null. */
  readonly breach: string | null;
  /** The first unfit value of each member of the document. Not complete where there is a breach. */
  readonly unfit: readonly UnfitValue[];
}

/** An object or a list that is open, and the place in it. */
interface Level {
  /** The keys seen so far; null for a list. */
  readonly keys: Set<string> | null;
  /** The key or the index of the value that is read now. */
  at: string | number;
}

/**
 * Looks through `text`, which must be valid JSON: the scan only follows strings, numbers and brackets. It
 * does not recurse, so no body is too deep for it, and it sees keys and numbers as they were sent, before
 * an object keeps only the last of two equal keys and a number becomes the nearest one that there is.
 */
export function scanJson(text: string, rules: JsonRules): JsonFindings {
  const levels: Level[] = [];
  const unfit = new Map<string, UnfitValue>();

  function note(fault: string | null): void {
    if (fault === null) return;
    const within = levels.length < 2 ? "" : String(levels[0]?.at);
    if (unfit.has(within)) return;
    const message = `${pathText(levels.map(({ at }) => at)).slice(0, MAX_PATH)}: ${fault}`;
    unfit.set(within, { within, message });
  }

  function end(breach: string | null): JsonFindings {
    return { breach, unfit: [...unfit.values()] };
  }

  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    switch (code) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (levels.length === rules.maxDepth) {
          return end(`is nested deeper than ${rules.maxDepth} levels`);
        }
        levels.push(code === OPEN_OBJECT ? { keys: new Set(), at: "" } : { keys: null, at: 0 });
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        levels.pop();
        break;
      case COMMA: {
        const level = levels.at(-1);
        if (typeof level?.at === "number") level.at++;
        break;
      }
      case QUOTE: {
        const after = endOfString(text, at);
        const content = contentOf(text, at, after);
        const level = levels.at(-1);
        if (level !== undefined && level.keys !== null && isKey(text, after)) {
          const breach = keyBreach(content, level.keys, rules);
          if (breach !== null) return end(breach);
          level.at = content;
        }
        // Only an escape can say half a character: the bytes of one are not UTF-8.
        if (!content.isWellFormed()) note("has half a character (a lone surrogate)");
        at = after - 1;
        break;
      }
      default:
        if (code === MINUS || (code >= ZERO && code <= NINE)) {
          const after = endOfNumber(text, at);
          note(numberFault(text.slice(at, after)));
          at = after - 1;
        }
    }
  }
  return end(null);
}

/** Longest path that is shown, characters. */
const MAX_PATH = 200;

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

/** Character codes that JSON lets stand between a key and its colon. */
const BLANKS: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];

function keyBreach(key: string, seen: Set<string>, rules: JsonRules): string | null {
  if (rules.forbiddenKeys.has(key)) return `has the forbidden key ${key}`;
  if (seen.has(key)) return `has the key ${JSON.stringify(key.slice(0, 64))} twice in one object`;
  seen.add(key);
  return null;
}

/** The string that stands from `start` to `end`, its quotes included. */
function contentOf(text: string, start: number, end: number): string {
  const content = text.slice(start + 1, end - 1);
  return content.includes("\\") ? JSON.parse(text.slice(start, end)) : content;
}

/** The place after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) break;
    if (code === BACKSLASH) at++;
  }
  return at + 1;
}

/** The place after the number that begins at `start`. */
function endOfNumber(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && IN_NUMBER.includes(text.charAt(at))) at++;
  return at;
}

const IN_NUMBER = "0123456789.eE+-";

/** Whether the string that ends at `end` is a key: a colon follows. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (BLANKS.includes(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}
