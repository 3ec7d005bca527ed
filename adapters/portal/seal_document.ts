import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { seal } from "../../core/protocol/sealing.ts";
import type { Random } from "../../core/ports/random.ts";

/**
 * Turns what an admin wrote into what an agent gets. `{"plain": "text"}` becomes a sealed box to
 * `publicKey`; with `"to": "<base64 key>"` beside it, a box that this agent cannot open.
 * `{"verbatim": x}` becomes `x` as it is.
 */
export function sealDocument(document: JsonValue, publicKey: string, random: Random): JsonValue {
  return mapMarks(document, (mark) => {
    if (Object.hasOwn(mark, "verbatim")) return mark["verbatim"]!;
    const to = typeof mark["to"] === "string" ? mark["to"] : publicKey;
    const text = new TextEncoder().encode(mark["plain"] as string);
    return { sealed: seal(text, decodeBase64(to)!, random.bytes(32)) };
  });
}

/** The document with every secret's text replaced, for people to look at. */
export function redactDocument(document: JsonValue): JsonValue {
  return mapMarks(
    document,
    (mark) => Object.hasOwn(mark, "plain") ? { ...mark, plain: "[secret]" } : { ...mark },
  );
}

/** Every secret that a document holds in clear. */
export function plainSecrets(document: JsonValue): string[] {
  const found: string[] = [];
  mapMarks(document, (mark) => {
    if (typeof mark["plain"] === "string") found.push(mark["plain"]);
    return null;
  });
  return found;
}

function mapMarks(value: JsonValue, replace: (mark: JsonObject) => JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => mapMarks(item, replace));
  if (!isJsonObject(value)) return value;
  if (isMark(value)) return replace(value);
  const entries = Object.entries(value).map(([key, item]) => [key, mapMarks(item, replace)]);
  return Object.fromEntries(entries);
}

function isMark(value: JsonObject): boolean {
  const keys = Object.keys(value).sort().join(" ");
  return keys === "verbatim" || (keys === "plain" && typeof value["plain"] === "string") ||
    (keys === "plain to" && typeof value["plain"] === "string" && isPublicKey(value["to"]));
}

function isPublicKey(value: JsonValue | undefined): boolean {
  return typeof value === "string" && decodeBase64(value)?.length === 32;
}
