import { decodeBase64, encodeBase64 } from "../protocol/base64.ts";
import type { Secret } from "../secret.ts";
import { REDACTED, redactPatterns } from "./secret_patterns.ts";

/** Takes secrets out of text that leaves the node or stays in a log. */
export interface Redactor {
  /** From now on this value is removed wherever it stands, also as JSON, in a URL and inside of base64. */
  know(secret: Secret): void;
  redact(text: string): string;
}

/** Shorter values would tear ordinary words apart, and are no secrets of ours. */
const MIN_LENGTH = 6;
/** Shorter lines of a secret of several lines, and pieces of base64, stand in harmless text too. */
const MIN_PIECE = 10;

/** A redactor that knows the patterns and no value yet. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  let longestFirst: readonly string[] = [];
  return {
    know(secret) {
      for (const form of formsOf(secret.reveal())) known.add(form);
      longestFirst = [...known].sort((a, b) => b.length - a.length);
    },
    redact(text) {
      let clean = text;
      for (const value of longestFirst) clean = clean.replaceAll(value, REDACTED);
      return redactPatterns(clean);
    },
  };
}

/** What a value may look like in text. */
function formsOf(value: string): string[] {
  if (value.length < MIN_LENGTH) return [];
  // A log shows a secret of several lines line by line.
  const lines = value.split(/\r?\n/).map((line) => line.trim());
  const pieces = lines.length > 1 ? lines.filter((line) => line.length >= MIN_PIECE) : [];
  return [value, ...pieces].flatMap((one) => [
    one,
    JSON.stringify(one).slice(1, -1),
    encodeURIComponent(one),
    ...base64Forms(new TextEncoder().encode(one)),
    ...hexForm(one),
  ]);
}

/**
 * A value as it looks inside of base64, alone or between other bytes: what is before it moves it by none,
 * one or two bytes. Only those characters that it alone decides.
 */
function base64Forms(bytes: Uint8Array): string[] {
  const alone = encodeBase64(bytes);
  const inside = [0, 1, 2].map((moved) => {
    const shifted = new Uint8Array(moved + bytes.length);
    shifted.set(bytes, moved);
    const text = encodeBase64(shifted).replace(/=+$/, "");
    const shared = shifted.length % 3 === 0 ? 0 : 1;
    return text.slice(Math.ceil(moved * 8 / 6), text.length - shared);
  }).filter((text) => text.length >= MIN_PIECE);
  return [alone, ...inside].flatMap((text) => [text, urlSafe(text)]);
}

function urlSafe(text: string): string {
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** A key that is known as base64 may be printed in hex. */
function hexForm(value: string): string[] {
  const bytes = decodeBase64(value);
  if (bytes === null || bytes.length < 16) return [];
  return [Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")];
}
