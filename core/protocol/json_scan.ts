/** What a JSON text may not hold beyond the grammar, beside two equal keys in one object. */
export interface JsonRules {
  /** Most levels of objects and arrays inside each other. */
  readonly maxDepth: number;
  /** Keys that no object may have. */
  readonly forbiddenKeys: ReadonlySet<string>;
}

/**
 * The first breach of `rules` in `text`, in words, or null. `text` must be valid JSON: the scan only
 * follows strings and brackets. It does not recurse, so no body is too deep for it, and it sees keys as
 * they were sent, before an object keeps only the last of two equal ones.
 */
export function findBreach(text: string, rules: JsonRules): string | null {
  /** The keys of each object that is open, null for each array. */
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (open.length === rules.maxDepth) return `is nested deeper than ${rules.maxDepth} levels`;
        open.push(text.charCodeAt(at) === OPEN_OBJECT ? new Set() : null);
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        open.pop();
        break;
      case QUOTE: {
        const end = endOfString(text, at);
        if (isKey(text, end)) {
          const breach = keyBreach(contentOf(text, at, end), open.at(-1) ?? null, rules);
          if (breach !== null) return breach;
        }
        at = end - 1;
        break;
      }
    }
  }
  return null;
}

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Character codes that JSON lets stand between a key and its colon. */
const BLANKS: readonly number[] = [0x20, 0x09, 0x0a, 0x0d];

function keyBreach(key: string, seen: Set<string> | null, rules: JsonRules): string | null {
  if (rules.forbiddenKeys.has(key)) return `has the forbidden key ${key}`;
  if (seen?.has(key)) return `has the key ${JSON.stringify(key.slice(0, 64))} twice in one object`;
  seen?.add(key);
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

/** Whether the string that ends at `end` is a key: a colon follows. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (BLANKS.includes(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}
