import type { z } from "zod";
import type { JsonValue } from "../../core/json.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Asker, noteBreach } from "./breach.ts";
import type { Portal } from "./portal.ts";

/** A body, as it was sent and as its schema reads it. */
export interface Document<T> {
  readonly raw: JsonValue;
  readonly value: T;
}

/**
 * Reads a request's body by its schema. Unknown fields are ignored, as the protocol wants it of every
 * reader (protocol §1), and noted as a breach: this version of the agent has none. The failure is for
 * people.
 */
export function readDocument<T>(
  portal: Portal,
  asker: Asker,
  bytes: Uint8Array,
  schema: z.ZodType<T>,
): Result<Document<T>, string> {
  const body = parseBody(bytes);
  if (!body.ok) return fail(body.error.message);
  const parsed = schema.safeParse(body.value);
  if (!parsed.success) return fail(describeIssue(parsed.error));
  const unknown = unknownField(body.value, parsed.data as JsonValue);
  if (unknown !== null) {
    noteBreach(portal, asker, "unknown_field", `${unknown}: the protocol has no such field`);
  }
  return ok({ raw: body.value, value: parsed.data });
}

/** The path of the first field that the schema dropped, or null. */
function unknownField(raw: JsonValue, parsed: JsonValue): string | null {
  if (typeof raw !== "object" || raw === null) return null;
  const kept = (parsed ?? {}) as Readonly<Record<string, JsonValue>>;
  for (const key of Object.keys(raw)) {
    if (!Object.hasOwn(kept, key)) return key;
    const inner = (raw as Readonly<Record<string, JsonValue>>)[key] ?? null;
    const unknown = unknownField(inner, kept[key] ?? null);
    if (unknown !== null) return `${key}.${unknown}`;
  }
  return null;
}
