/**
 * Standard base64 with padding (RFC 4648 §4), strict: no blanks, no URL alphabet, no missing padding and
 * no stray bits, so that one byte sequence has exactly one text.
 */

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/** The value of each character by its code, -1 where it has none. */
const VALUES: readonly number[] = Array.from(
  { length: 128 },
  (_, code) => ALPHABET.indexOf(String.fromCharCode(code)),
);

/** The text of `bytes`. */
export function encodeBase64(bytes: Uint8Array): string {
  return bytes.toBase64();
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
