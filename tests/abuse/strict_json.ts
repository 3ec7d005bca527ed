/** A value as an oracle sees it: objects are maps, so that no key is special and none is lost. */
export type Value = null | boolean | number | string | Value[] | Map<string, Value>;

const FORBIDDEN: readonly string[] = ["__proto__", "constructor", "prototype"];
const DEEPEST = 64;

/** Why a text is not taken; the oracle only says that it is not. */
class Refused extends Error {}

/**
 * The oracle's own reader of bodies: strict UTF-8 and JSON, at most 64 levels, no key twice, none of the
 * three keys that reach a prototype. Written apart from the agent's; undefined where it refuses.
 */
export function readStrictly(bytes: Uint8Array): Value | undefined {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

function parse(text: string): Value {
  let at = 0;

  function blank(): void {
    while (at < text.length && " \t\n\r".includes(text.charAt(at))) at++;
  }

  function expect(token: string): void {
    if (!text.startsWith(token, at)) throw new Refused();
    at += token.length;
  }

  function take(pattern: RegExp): string | undefined {
    const sticky = new RegExp(pattern.source, "y");
    sticky.lastIndex = at;
    const found = sticky.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  function string(): string {
    // deno-lint-ignore no-control-regex -- JSON takes none of them in a string
    const found = take(/"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/);
    if (found === undefined) throw new Refused();
    return JSON.parse(found);
  }

  function list(open: number): Value[] {
    const items: Value[] = [];
    expect("[");
    blank();
    if (text[at] !== "]") {
      do items.push(value(open + 1)); while (comma());
    }
    expect("]");
    return items;
  }

  function object(open: number): Map<string, Value> {
    const members = new Map<string, Value>();
    expect("{");
    blank();
    if (text[at] !== "}") {
      do {
        blank();
        const key = string();
        if (members.has(key) || FORBIDDEN.includes(key)) throw new Refused();
        blank();
        expect(":");
        members.set(key, value(open + 1));
      } while (comma());
    }
    expect("}");
    return members;
  }

  function comma(): boolean {
    const found = text[at] === ",";
    if (found) at++;
    return found;
  }

  /** `open`: how many objects and lists it stands in. */
  function value(open: number): Value {
    blank();
    const found = any(open);
    blank();
    return found;
  }

  function any(open: number): Value {
    const first = text[at];
    if ((first === "{" || first === "[") && open === DEEPEST) throw new Refused();
    if (first === "{") return object(open);
    if (first === "[") return list(open);
    if (first === '"') return string();
    const word = take(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/);
    if (word === undefined) throw new Refused();
    return word === "null"
      ? null
      : word === "true"
      ? true
      : word === "false"
      ? false
      : Number(word);
  }

  const whole = value(0);
  if (at !== text.length) throw new Refused();
  return whole;
}
