import { signingPublicKey } from "../../core/protocol/signing.ts";
import type { Secret } from "../../core/secret.ts";

/**
 * Signatures for simulated time: 64 bytes that depend on the key and on every byte, made in a microsecond.
 * They tell a wrong key and a changed text apart as real ones do, and protect from nobody.
 */
export interface CheapSigning {
  sign(seed: Secret<Uint8Array>, bytes: Uint8Array): Uint8Array;
  verify(publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean;
}

/** For one run: it keeps the public key of every seed that it has seen. */
export function createCheapSigning(): CheapSigning {
  const publicKeys = new WeakMap<Secret<Uint8Array>, Uint8Array>();

  function publicKeyOf(seed: Secret<Uint8Array>): Uint8Array {
    const known = publicKeys.get(seed);
    if (known !== undefined) return known;
    const made = signingPublicKey(seed);
    publicKeys.set(seed, made);
    return made;
  }

  return {
    sign(seed, bytes) {
      const signature = new Uint8Array(64);
      const view = new DataView(signature.buffer);
      const key = publicKeyOf(seed);
      view.setUint32(0, mixed(key, bytes, 0x811c9dc5));
      view.setUint32(4, mixed(key, bytes, 0x9e3779b9));
      return signature;
    },
    verify(publicKey, signature, bytes) {
      if (publicKey.length !== 32 || signature.length !== 64) return false;
      const view = new DataView(signature.buffer, signature.byteOffset);
      return view.getUint32(0) === mixed(publicKey, bytes, 0x811c9dc5) &&
        view.getUint32(4) === mixed(publicKey, bytes, 0x9e3779b9);
    },
  };
}

/** FNV-1a over key and text, from a start. */
function mixed(key: Uint8Array, bytes: Uint8Array, start: number): number {
  let hash = start;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ (key[at] ?? 0), 0x01000193);
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return hash >>> 0;
}
