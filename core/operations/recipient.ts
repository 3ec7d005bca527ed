import * as z from "zod";
import type { Random } from "../ports/random.ts";
import { decodeBase64 } from "../protocol/base64.ts";
import { isX25519PublicKey } from "../protocol/public_key_check.ts";
import { seal } from "../protocol/sealing.ts";

/**
 * The X25519 key that what is secret in an output is sealed to. One of small order is refused: anyone could
 * open the box.
 */
export const Recipient = z.string().refine(
  (text) => decodeBase64(text)?.length === 32,
  { message: "is not the base64 of a 32-byte X25519 key", abort: true },
).refine(
  (text) => isX25519PublicKey(decodeBase64(text) ?? new Uint8Array()),
  "is of small order or not in its canonical form, so that anyone could open a box for it",
);

/** Seals bytes for a recipient: base64 of a libsodium sealed box. */
export function sealFor(recipient: string, bytes: Uint8Array, random: Random): string {
  const key = decodeBase64(recipient);
  if (key === null) throw new Error("a recipient that was checked is no base64 any more");
  return seal(bytes, key, random.bytes(32));
}
