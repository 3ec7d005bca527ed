import * as z from "zod";
import type { Random } from "../ports/random.ts";
import { decodeBase64 } from "../protocol/base64.ts";
import { seal } from "../protocol/sealing.ts";

/** The X25519 key of whoever asked: what is secret in an output is sealed to it, and to nobody else. */
export const Recipient = z.string().refine(
  (text) => decodeBase64(text)?.length === 32,
  "is not the base64 of a 32-byte X25519 key",
);

/** Seals bytes for a recipient: base64 of a libsodium sealed box. */
export function sealFor(recipient: string, bytes: Uint8Array, random: Random): string {
  const key = decodeBase64(recipient);
  if (key === null) throw new Error("a recipient that was checked is no base64 any more");
  return seal(bytes, key, random.bytes(32));
}
