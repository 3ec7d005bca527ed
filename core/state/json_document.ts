import type { z } from "zod";
import { isJsonObject } from "../json.ts";
import type { Parse } from "./durable.ts";

/** The format that this program writes; a file with a higher number is refused, never overwritten. */
export const FORMAT = 1;

/**
 * A parser for the agent's own JSON files: `{"format": 1, ...}` in the shape of `schema`. The value comes
 * without its `format`.
 */
export function jsonParser<T extends { readonly format: number }>(
  schema: z.ZodType<T>,
): Parse<Omit<T, "format">> {
  return (bytes) => {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    } catch {
      return { kind: "unreadable", reason: "is no JSON" };
    }
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

/** The bytes of a document, readable for people too. */
export function jsonBytes(value: unknown): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value, null, 2)}\n`);
}
