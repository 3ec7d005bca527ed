import type { z } from "zod";
import { isJsonObject } from "../json.ts";
import { scanJson } from "../protocol/json_scan.ts";
import type { Parse } from "./durable.ts";

/** The format that this program writes; a file with a higher number is refused, never overwritten. */
export const FORMAT = 1;

/** A document of the portal may be 64 levels deep (protocol §1); the agent's files hold it a few deeper. */
const RULES = { maxDepth: 80, forbiddenKeys: new Set(["__proto__"]) };

/**
 * A parser for the agent's own JSON files: `{"format": 1, ...}` in the shape of `schema`. The value comes
 * without its `format`.
 */
export function jsonParser<T extends { readonly format: number }>(
  schema: z.ZodType<T>,
): Parse<Omit<T, "format">> {
  return (bytes) => {
    let text: string;
    let value: unknown;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
      value = JSON.parse(text);
    } catch {
      return { kind: "unreadable", reason: "is no JSON" };
    }
    const { breach } = scanJson(text, RULES);
    if (breach !== null) return { kind: "unreadable", reason: breach };
    if (isJsonObject(value)) {
      const format = value["format"];
      if (typeof format === "number" && format > FORMAT) return { kind: "newer", format };
    }
    const parsed = schema.safeParse(value);
    if (parsed.success) {
      const { format: _format, ...value } = parsed.data;
      return { kind: "loaded", value };
    }
    // Names the place only: a value might be a key.
    const where = parsed.error.issues[0]?.path.join(".") ?? "";
    return { kind: "unreadable", reason: `has an unexpected shape at '${where}'` };
  };
}

/** The text of a document, readable for people too. */
export function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The bytes of a document. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(jsonText(value));
}
