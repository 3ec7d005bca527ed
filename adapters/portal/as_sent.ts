import type { JsonValue } from "../../core/json.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { enrollPosition } from "../../core/protocol/secret_positions.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Portal } from "./portal.ts";
import { sealDocument } from "./seal_document.ts";

/** Base64 of a key to check a document's shape with; nobody opens what is sealed to it. */
const ANY_KEY = btoa("k".repeat(32));

/** A document of the admin's as an agent would read it, or why an agent could not take it. */
export function asSent(portal: Portal, document: JsonValue): Result<JsonValue, string> {
  const text = JSON.stringify(sealDocument(document, ANY_KEY, enrollPosition, portal));
  const read = parseBody(new TextEncoder().encode(text));
  return read.ok ? ok(read.value) : fail(read.error.message);
}
