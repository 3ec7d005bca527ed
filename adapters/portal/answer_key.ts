import type { contentDigest } from "../../core/protocol/answer_signature.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import { nativeContentDigest } from "../native_hash.ts";
import { createNativeSigning } from "../native_signing.ts";

/** With what a portal proves its answers (trust.md T2). */
export interface AnswerKey {
  readonly publicKey: Uint8Array;
  sign(bytes: Uint8Array): Uint8Array;
  /** How bodies are hashed; in JavaScript unless told. */
  readonly contentDigest?: typeof contentDigest;
}

/** The key that a 32-byte seed makes, computed in JavaScript. */
export function keyOf(seed: Secret<Uint8Array>): AnswerKey {
  return { publicKey: signingPublicKey(seed), sign: (bytes) => sign(seed, bytes) };
}

/** The same by the runtime's own code. */
export function nativeKeyOf(bytes: Uint8Array): AnswerKey {
  const seed = new Secret(bytes);
  const signing = createNativeSigning();
  return {
    publicKey: signing.publicKey(seed),
    sign: (text) => signing.sign(seed, text),
    contentDigest: nativeContentDigest,
  };
}

/** What config.yaml has as `portal_keys`; empty for a portal that proves nothing. */
export function portalKeysOf(key: AnswerKey | undefined): string[] {
  return key === undefined ? [] : [encodeBase64(key.publicKey)];
}
