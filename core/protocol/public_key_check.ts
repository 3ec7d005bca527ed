import { bytesToHex } from "@noble/hashes/utils.js";

/**
 * Which 32 bytes may be somebody's public key. A key of small order has no secret half: what is sealed to
 * such an X25519 key is opened by anyone, and a signature by such an Ed25519 key holds for nearly any text.
 * A coordinate of 2^255 - 19 or more is a second spelling of a smaller one, which some programs take for
 * another key. Both kinds are never made by accident.
 */

/** X25519: the u coordinates of the points of small order, as a number of 64 hex digits. */
const SMALL_ORDER_U: ReadonlySet<string> = new Set([
  "0".repeat(64),
  "1".padStart(64, "0"),
  "00b8495f16056286fdb1329ceb8d09da6ac49ff1fae35616aeb8413b7c7aebe0",
  "57119fd0dd4e22d8868e1c58c45c44045bef839c55b1d0b1248c50a3bc959c5f",
  "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec",
]);

/** Ed25519: the y coordinates of the points of small order, without the sign of x. */
const SMALL_ORDER_Y: ReadonlySet<string> = new Set([
  "0".repeat(64),
  "1".padStart(64, "0"),
  "05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826",
  "7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7",
  "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffec",
]);

/** 2^255 - 19, as 64 hex digits. */
const PRIME = `7${"f".repeat(61)}ed`;

/** Whether the bytes can be an X25519 public key that somebody has the secret half of. */
export function isX25519PublicKey(bytes: Uint8Array): boolean {
  return isCoordinate(bytes, SMALL_ORDER_U);
}

/**
 * Whether the bytes can be an Ed25519 public key that somebody has the secret half of. Half of all
 * coordinates are on no point: this is not looked at, as nothing verifies with such a key.
 */
export function isEd25519PublicKey(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false;
  const withoutSign = Uint8Array.from(bytes);
  withoutSign[31] = (bytes[31] ?? 0) & 0x7f;
  return isCoordinate(withoutSign, SMALL_ORDER_Y);
}

function isCoordinate(littleEndian: Uint8Array, smallOrder: ReadonlySet<string>): boolean {
  if (littleEndian.length !== 32) return false;
  // Of one length, in lower case: the texts are in the numbers' own order.
  const number = bytesToHex(Uint8Array.from(littleEndian).reverse());
  return number < PRIME && !smallOrder.has(number);
}
