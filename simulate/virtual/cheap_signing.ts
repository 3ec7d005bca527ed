import type { Secret } from "../../core/secret.ts";

/**
 * Signatures and hashes for simulated time: they depend on the key and on every byte, and are made in a
 * microsecond. They tell a wrong key and a changed text apart as real ones do, and protect from nobody.
 */
export interface CheapSigning {
  sign(seed: Secret<Uint8Array>, bytes: Uint8Array): Uint8Array;
  verify(publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean;
  /** In place of a body's SHA-256. */
  hashBody(body: Uint8Array): string;
}

/** For one run: it keeps the public key, made by `derive`, of every seed that it has seen. */
export function createCheapSigning(
  derive: (seed: Secret<Uint8Array>) => Uint8Array,
): CheapSigning {
  const publicKeys = new WeakMap<Secret<Uint8Array>, Uint8Array>();

  function publicKeyOf(seed: Secret<Uint8Array>): Uint8Array {
    const known = publicKeys.get(seed);
    if (known !== undefined) return known;
    const made = derive(seed);
    publicKeys.set(seed, made);
    return made;
  }

  return {
    sign(seed, bytes) {
      const signature = new Uint8Array(64);
      const { first, second } = mixed(bytes, mixed(publicKeyOf(seed)));
      for (let at = 0; at < 4; at++) {
        signature[at] = first >>> 8 * at;
        signature[4 + at] = second >>> 8 * at;
      }
      return signature;
    },
    verify(publicKey, signature, bytes) {
      if (publicKey.length !== 32 || signature.length !== 64) return false;
      const { first, second } = mixed(bytes, mixed(publicKey));
      return numberAt(signature, 0) === first && numberAt(signature, 4) === second;
    },
    hashBody(body) {
      const { first, second } = mixed(body);
      return `${first}-${second}`;
    },
  };
}

/** Two 32-bit numbers, unsigned. */
interface Mixed {
  readonly first: number;
  readonly second: number;
}

const START: Mixed = { first: 0x811c9dc5, second: 0x9e3779b9 };

/** FNV-1a over words of four bytes and what is left of them, twice in one go: from two starts. */
function mixed(bytes: Uint8Array, start = START): Mixed {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const wordsEnd = bytes.length - bytes.length % 4;
  let { first, second } = start;
  for (let at = 0; at < bytes.length; at += at < wordsEnd ? 4 : 1) {
    const next = at < wordsEnd ? words.getUint32(at) : words.getUint8(at);
    first = Math.imul(first ^ next, 0x01000193);
    second = Math.imul(second ^ next, 0x01000193);
  }
  return { first: first >>> 0, second: second >>> 0 };
}

/** Byte by byte: a view of so small an array would cost more than all the rest. */
function numberAt(bytes: Uint8Array, from: number): number {
  let number = 0;
  for (let at = 3; at >= 0; at--) number = number << 8 | (bytes[from + at] ?? 0);
  return number >>> 0;
}
