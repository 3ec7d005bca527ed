/**
 * Standard base64 with padding (RFC 4648 §4), strict: no blanks, no URL alphabet, no missing padding and
 * no stray bits, so that one byte sequence has exactly one text.
 */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CODES = new TextEncoder().encode(ALPHABET);
/** The value of each character by its code, -1 where it has none. */
const VALUES: readonly number[] = Array.from(
  { length: 128 },
  (_, code) => ALPHABET.indexOf(String.fromCharCode(code)),
);
const PADDING = 0x3d;
const ASCII = new TextDecoder();

/** The text of `bytes`. In one piece: one that is put together by characters is slow to read and to compare. */
export function encodeBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING);
  let held = 0;
  let bits = 0;
  let to = 0;
  for (let at = 0; at < bytes.length; at++) {
    held = (held << 8 | (bytes[at] ?? 0)) & 0x3fff;
    for (bits += 8; bits >= 6;) {
      bits -= 6;
      text[to++] = CODES[held >> bits & 0x3f] ?? PADDING;
    }
  }
  if (bits > 0) text[to] = CODES[held << 6 - bits & 0x3f] ?? PADDING;
  return ASCII.decode(text);
}

/** The bytes of `text`, or null where it is not exactly standard base64 with padding. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 !== 0) return null;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array(text.length / 4 * 3 - padding);
  let held = 0;
  let bits = 0;
  let at = 0;
  for (let index = 0; index < text.length - padding; index++) {
    const value = VALUES[text.charCodeAt(index)] ?? -1;
    if (value < 0) return null;
    held = (held << 6 | value) & 0xfff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = held >> bits;
    }
  }
  // What is left over belongs to no byte: other bits than zeros would be a second text of the same bytes.
  return (held & (1 << bits) - 1) === 0 ? bytes : null;
}
