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
export type HashBody = (body: Uint8Array) => string;

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

/** Verifies as {@link verify} does, by whatever means the program has for it. */
export type Verify = (
  publicKey: Uint8Array,
  signature: Uint8Array,
  bytes: Uint8Array,
) => boolean;

/**
 * Whether `signature` is `publicKey`'s over `bytes`, by the strict rules of RFC 8032. Keys and signatures
 * of a wrong length, and points that are none, are a plain no.
 */
export function verify(publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, bytes, publicKey, { zip215: false });
  } catch {
    return false;
  }
}

/** The 32-byte Ed25519 public key of a 32-byte seed. */
export function signingPublicKey(seed: Secret<Uint8Array>): Uint8Array {
  return ed25519.getPublicKey(seed.reveal());
}
