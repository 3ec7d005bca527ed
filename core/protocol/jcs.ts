import { isJsonObject, type JsonValue } from "../json.ts";

/**
 * The canonical text of a JSON value (RFC 8785, JCS): keys sorted by UTF-16 code units, no blanks, numbers
 * and strings as ECMAScript writes them.
 *
 * @throws RangeError for a text with half a character, or a number that is not finite: they have no such text
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value).sort().map((key) =>
      `${textOf(key)}:${canonicalJson(value[key] ?? null)}`
    );
    return `{${members.join(",")}}`;
  }
  if (typeof value === "string") return textOf(value);
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new RangeError("a number that is not finite has no canonical JSON");
  }
  return JSON.stringify(value);
}

function textOf(text: string): string {
  if (!text.isWellFormed()) throw new RangeError("half a character has no canonical JSON");
  return JSON.stringify(text);
}
