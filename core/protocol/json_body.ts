import type { JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import { scanJson, type UnfitValue } from "./json_scan.ts";

/** Why a body is not taken (protocol §1); answered like 5xx. */
export interface MalformedAnswer {
  readonly code: "malformed_answer";
  readonly message: string;
}

/** Deeper than any document of the protocol, shallow enough for every recursive reader after this one. */
const MAX_DEPTH = 64;

/** Keys that could reach an object's prototype (protocol §1). */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);
const RULES = { maxDepth: MAX_DEPTH, forbiddenKeys: FORBIDDEN_KEYS };

/** A body that was read. */
export interface Body {
  readonly value: JsonValue;
  /**
   * Values in it that did not stay what they were sent as; nothing of the member that they stand in may be
   * used (protocol §2).
   */
  readonly unfit: readonly UnfitValue[];
}

/**
 * Reads a body: UTF-8 without a byte order mark, JSON, at most 64 levels deep, without the keys that
 * protocol §1 refuses anywhere, and no key twice in one object: of two the first could be a secret in
 * clear that nobody sees. The message names the fault, never a value. Numbers and texts that JavaScript
 * would alter are told beside the value, so that they can be refused where they stand.
 */
export function readBody(bytes: Uint8Array): Result<Body, MalformedAnswer> {
  const text = decodeUtf8(bytes);
  if (text === null) return malformed("is no UTF-8");
  const value = parseJson(text);
  if (value === undefined) return malformed("is no JSON");
  if (isPlain(text, value)) return ok({ value, unfit: [] });
  const { breach, unfit } = scanJson(text, RULES);
  return breach === null ? ok({ value, unfit }) : malformed(breach);
}

/** Reads a body that counts as a whole or not at all: as {@link readBody}, and nothing in it is unfit. */
export function parseBody(bytes: Uint8Array): Result<JsonValue, MalformedAnswer> {
  const body = readBody(bytes);
  if (!body.ok) return body;
  const [unfit] = body.value.unfit;
  return unfit === undefined
    ? ok(body.value.value)
    : fail({ code: "malformed_answer", message: unfit.message });
}

/**
 * Whether a text cannot break a rule, as is seen of nearly all at a tenth of the scan's cost: it has too few
 * brackets to be too deep, and no forbidden word; and it is just what its value is written as, which never
 * has a key twice nor a number that lost digits.
 */
function isPlain(text: string, value: JsonValue): boolean {
  if (countOf(text, "{") + countOf(text, "[") > MAX_DEPTH) return false;
  for (const key of FORBIDDEN_KEYS) if (text.includes(key)) return false;
  return !MAY_BE_UNFIT.test(text) && JSON.stringify(value) === text;
}

/** What is unfit and yet written as it was sent: an integer of 16 digits or more, half a character. */
const MAY_BE_UNFIT = /[0-9]{16}|[0-9]e\+|\\ud/;

function countOf(text: string, sign: string): number {
  let count = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) count++;
  return count;
}

/** Made once: they keep nothing from one body to the next, and to make one takes longer than to use it. */
const STRICT_UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LENIENT_UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
/** What the lenient decoder, which is five times as fast, puts in place of what is no UTF-8. */
const REPLACEMENT = "\ufffd";

function decodeUtf8(bytes: Uint8Array): string | null {
  const text = LENIENT_UTF8.decode(bytes);
  if (!text.includes(REPLACEMENT)) return text;
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
