/**
 * Why a number of a JSON text would not stay what it is, in words, or null where it stays. `literal` is as
 * it stands in the text. A program that reads JSON into doubles keeps a number when the double, written
 * out again, says the same decimal value: `10.0` and `1e1` stay, `0.1` stays, `9007199254740993` does not.
 * Integers end at ±(2^53 − 1) (protocol §2): beyond it two integers can be one double.
 */
export function numberFault(literal: string): string | null {
  if (literal.length <= SHORT && isPlainInteger(literal)) return null;
  const value = Number(literal);
  if (!Number.isFinite(value)) return "is a number beyond what a double can hold";
  // A double beyond the limit is always a whole number, and so is what rounds to one up there.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) return "is an integer beyond ±(2^53 - 1)";
  const sent = decimalOf(literal);
  const kept = decimalOf(String(value));
  const isKept = sent.digits === kept.digits && sent.exponent === kept.exponent;
  return isKept ? null : "is a number with more digits than a double keeps";
}

/** Every integer of so many characters is within the limit. */
const SHORT = 15;

function isPlainInteger(literal: string): boolean {
  for (let at = 0; at < literal.length; at++) {
    const code = literal.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}

/** A decimal as its significant digits and a power of ten; the sign is the same for both and left out. */
interface Decimal {
  /** Without zeros at either end; empty for zero. */
  readonly digits: string;
  readonly exponent: number;
}

function decimalOf(literal: string): Decimal {
  const [mantissa = "", power = "0"] = literal.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const all = whole + fraction;
  let from = 0;
  while (all[from] === "0") from++;
  let to = all.length;
  while (to > from && all[to - 1] === "0") to--;
  if (from === to) return { digits: "", exponent: 0 };
  const exponent = Number(power) - fraction.length + (all.length - to);
  return { digits: all.slice(from, to), exponent };
}
