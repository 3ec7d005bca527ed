import type { JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import { findBreach } from "./json_scan.ts";

/** Why a body is not taken (protocol §1); answered like 5xx. */
export interface MalformedAnswer {
  readonly code: "malformed_answer";
  readonly message: string;
}

/** Deeper than any document of the protocol, shallow enough for every recursive reader after this one. */
const MAX_DEPTH = 64;

/** Keys that could reach an object's prototype (protocol §1). */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Reads a body: UTF-8 without a byte order mark, JSON, at most 64 levels deep, without the keys that
 * protocol §1 refuses anywhere, and no key twice in one object: of two the first could be a secret in
 * clear that nobody sees. The message names the fault, never a value.
 */
export function parseBody(bytes: Uint8Array): Result<JsonValue, MalformedAnswer> {
  const text = decodeUtf8(bytes);
  if (text === null) return malformed("is no UTF-8");
  const value = parseJson(text);
  if (value === undefined) return malformed("is no JSON");
  const breach = findBreach(text, {
    maxDepth: MAX_DEPTH,
    forbiddenKeys: FORBIDDEN_KEYS,
  });
  return breach === null ? ok(value) : malformed(breach);
}

/** Made once: it keeps nothing from one body to the next, and to make one takes longer than to use it. */
const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return STRICT_UTF8.decode(bytes);
  } catch {
    return null;
  }
}

/** The value, or undefined, which JSON cannot say. The parser's own message would quote the body. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function malformed(why: string): Result<never, MalformedAnswer> {
  return fail({ code: "malformed_answer", message: `the body ${why}` });
}
