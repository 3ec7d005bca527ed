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
  /** One set of keys for each object or array that is open; arrays leave theirs empty. */
  const open: Set<string>[] = [];
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case "{":
      case "[":
        if (open.length === rules.maxDepth) return `is nested deeper than ${rules.maxDepth} levels`;
        open.push(new Set());
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case '"': {
        const end = endOfString(text, at);
        if (isKey(text, end)) {
          const breach = keyBreach(textOf(text.slice(at, end)), open.at(-1), rules);
          if (breach !== null) return breach;
        }
        at = end - 1;
        break;
      }
    }
  }
  return null;
}

function keyBreach(key: string, seen: Set<string> | undefined, rules: JsonRules): string | null {
  if (rules.forbiddenKeys.has(key)) return `has the forbidden key ${key}`;
  if (seen?.has(key)) return `has the key ${JSON.stringify(key.slice(0, 64))} twice in one object`;
  seen?.add(key);
  return null;
}

/** What a string of JSON says. Next to none holds an escape, and the parser costs more than a copy. */
function textOf(quoted: string): string {
  return quoted.includes("\\") ? JSON.parse(quoted) : quoted.slice(1, -1);
}

/** The place after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Whether the string that ends at `end` is a key: a colon follows. */
function isKey(text: string, end: number): boolean {
  let at = end;
  while (" \t\n\r".includes(text[at] ?? "x")) at++;
  return text[at] === ":";
}
