import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Secret } from "../secret.ts";

/** What a request's signature covers (protocol §1). */
export interface SignedParts {
  readonly method: string;
  /** The path as it is sent, with the query where there is one; never the origin. */
  readonly path: string;
  /** Unix time in whole seconds, by the corrected clock. */
  readonly timestamp: number;
  /** The body's bytes; none for a request without a body. */
  readonly body: Uint8Array;
}

const UTF8 = new TextEncoder();

/** The bytes that the agent signs for one request (protocol §1). */
export function signedBytes({ body, ...parts }: SignedParts): Uint8Array {
  return signedBytesOf(parts, hashBody(body));
}

/** Hashes as {@link hashBody} does, by whatever means the program has for it. */
export type HashBody = (body: Uint8Array) => string | Promise<string>;

/** What a signature covers of a body: its SHA-256 in lower-case hex. */
export function hashBody(body: Uint8Array): string {
  return bytesToHex(sha256(body));
}

/** The same for a body of which only the hash is at hand, lower-case hex SHA-256. */
export function signedBytesOf(
  { method, path, timestamp }: Omit<SignedParts, "body">,
  bodySha256: string,
): Uint8Array {
  return UTF8.encode(`pbx-agent-v1\n${method}\n${path}\n${timestamp}\n${bodySha256}`);
}

/** Signs as {@link sign} does, by whatever means the program has for it. */
export type Sign = (
  seed: Secret<Uint8Array>,
  bytes: Uint8Array,
) => Uint8Array | Promise<Uint8Array>;

/** The 64-byte Ed25519 signature over `bytes`, by the key that the 32-byte `seed` makes. */
export function sign(seed: Secret<Uint8Array>, bytes: Uint8Array): Uint8Array {
  return ed25519.sign(bytes, seed.reveal());
}

/**
 * Verifies as {@link verify} does, by whatever means the program has for it. Always a promise: one that is
 * not awaited is an error of types, and no signature that holds.
 */
export type Verify = (...signed: Parameters<typeof verify>) => Promise<boolean>;

/** {@link verify}, for a program that has no other means. */
export const verifyInScript: Verify = (...signed) => Promise.resolve(verify(...signed));

/**
 * Whether `signature` is `publicKey`'s over `bytes` (RFC 8032). Keys and signatures of a wrong length, points
 * that are not on the curve or not in its canonical form, and those outside the group of prime order are a
 * plain no: RFC 8032 lets verifiers differ on the last kind, and here all means have to agree.
 */
export function verify(publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean {
  if (!isVerifyingKey(publicKey) || signature.length !== 64) return false;
  try {
    return ed25519.Point.fromBytes(signature.slice(0, 32)).isTorsionFree() &&
      ed25519.verify(signature, bytes, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

/** Whether the bytes are a point that {@link verify} takes as a key: canonical, and of prime order. */
export function isVerifyingKey(bytes: Uint8Array): boolean {
  try {
    const point = ed25519.Point.fromBytes(bytes);
    return !point.isSmallOrder() && point.isTorsionFree();
  } catch {
    return false;
  }
}

/** The 32-byte Ed25519 public key of a 32-byte seed. */
export function signingPublicKey(seed: Secret<Uint8Array>): Uint8Array {
  return ed25519.getPublicKey(seed.reveal());
}
