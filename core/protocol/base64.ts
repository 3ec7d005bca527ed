/**
 * Standard base64 with padding (RFC 4648 §4), strict: no blanks, no URL alphabet, no missing padding and
 * no stray bits, so that one byte sequence has exactly one text.
 */

/** Nothing is repeated but one character class: a group would overflow the stack on a long text. */
const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/;

/** The text of `bytes`. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The bytes of `text`, or null where it is not exactly standard base64 with padding. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 !== 0 || !STANDARD.test(text)) return null;
  const binary = atob(text);
  if (btoa(binary) !== text) return null;
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
