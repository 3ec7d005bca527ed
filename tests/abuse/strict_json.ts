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
  const read = readWithUnfit(bytes);
  return read === undefined || read.unfit.size > 0 ? undefined : read.value;
}

/** A document, and the members of it that hold something which does not stay what it is. */
export interface Read {
  readonly value: Value;
  /** Keys of the document; "" for what stands in none of them. */
  readonly unfit: ReadonlySet<string>;
}

/** As {@link readStrictly}; a number or a text that would be altered is told and does not refuse it all. */
export function readWithUnfit(bytes: Uint8Array): Read | undefined {
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

/** A decimal as a fraction of two whole numbers. */
function fraction(word: string): readonly [bigint, bigint] {
  const [, sign, whole, part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(word) ?? [];
  const digits = BigInt(`${whole}${part}`) * (sign === "-" ? -1n : 1n);
  const shift = Number(power) - part.length;
  return shift < 0 ? [digits, 10n ** BigInt(-shift)] : [digits * 10n ** BigInt(shift), 1n];
}

/** Whether a number is the same after it was a double, and no integer that could be two. */
function staysItself(word: string): boolean {
  const double = Number(word);
  if (!Number.isFinite(double)) return false;
  // Whole numbers of millions of digits take too long; none of these is anything but zero.
  if (double === 0) return !/[1-9]/.test(word.replace(/e.*/i, ""));
  const [top, bottom] = fraction(word);
  const [keptTop, keptBottom] = fraction(String(double));
  if (top * keptBottom !== keptTop * bottom) return false;
  const size = top < 0n ? -top : top;
  return size % bottom !== 0n || size / bottom < 2n ** 53n;
}

function parse(text: string): Read {
  let at = 0;
  const unfit = new Set<string>();
  /** The key of the document that is read now. */
  let member = "";

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
    const content: string = JSON.parse(found);
    // Half a character becomes another one as soon as it is written as UTF-8.
    if (/[\ud800-\udfff]/u.test(content)) unfit.add(member);
    return content;
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
        // A key of the document itself stands in none of its members.
        if (open === 0) member = "";
        const key = string();
        if (open === 0) member = key;
        if (members.has(key) || FORBIDDEN.includes(key)) throw new Refused();
        blank();
        expect(":");
        members.set(key, value(open + 1));
      } while (comma());
    }
    expect("}");
    if (open === 0) member = "";
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
    // A value that is a member as a whole stands beside the others, not inside of one.
    const within = member;
    if (open < 2 && first !== "{" && first !== "[") member = "";
    try {
      return anyOf(first, open);
    } finally {
      member = within;
    }
  }

  function anyOf(first: string | undefined, open: number): Value {
    if ((first === "{" || first === "[") && open === DEEPEST) throw new Refused();
    if (first === "{") return object(open);
    if (first === "[") return list(open);
    if (first === '"') return string();
    const word = take(/true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/);
    if (word === undefined) throw new Refused();
    if (/\d/.test(word) && !staysItself(word)) unfit.add(member);
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
  return { value: whole, unfit };
}
