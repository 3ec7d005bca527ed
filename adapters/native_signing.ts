import { hexToBytes } from "@noble/hashes/utils.js";
import { Buffer } from "node:buffer";
import * as native from "node:crypto";
import { isVerifyingKey } from "../core/protocol/signing.ts";
import type { Secret } from "../core/secret.ts";

/**
 * Ed25519 by the runtime's own code: what core/protocol/signing.ts does, in a twentieth of the time. For
 * fleets and their portal; loading it costs more than a start of the agent may.
 */
export interface NativeSigning {
  /** The 32-byte public key that the 32-byte `seed` makes. */
  publicKey(seed: Secret<Uint8Array>): Uint8Array;
  /** The 64-byte signature over `bytes`, by the key that the 32-byte `seed` makes. */
  sign(seed: Secret<Uint8Array>, bytes: Uint8Array): Uint8Array;
  /** Whether `signature` is `publicKey`'s over `bytes`; no for keys and signatures that are none. */
  verify(publicKey: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean;
}

/** What comes before the 32 bytes of a key in DER (RFC 8410). */
const PRIVATE_PREFIX = "302e020100300506032b657004220420";
const PUBLIC_PREFIX = "302a300506032b6570032100";
const KEY_LENGTH = 32;
/** So many public keys are kept ready. */
const MOST_KEYS = 200_000;

/** Keys are made ready once: a private one for as long as its seed is held, public ones up to a number. */
export function createNativeSigning(): NativeSigning {
  const privateKeys = new WeakMap<Secret<Uint8Array>, native.KeyObject>();
  const publicKeys = new Map<string, native.KeyObject | null>();

  function privateKey(seed: Secret<Uint8Array>): native.KeyObject {
    let key = privateKeys.get(seed);
    if (key === undefined) {
      const der = Buffer.concat([hexToBytes(PRIVATE_PREFIX), seed.reveal()]);
      key = native.createPrivateKey({ key: der, format: "der", type: "pkcs8" });
      privateKeys.set(seed, key);
    }
    return key;
  }

  function publicKey(bytes: Uint8Array): native.KeyObject | null {
    const name = String.fromCharCode(...bytes);
    let key = publicKeys.get(name);
    if (key === undefined) {
      if (publicKeys.size >= MOST_KEYS) publicKeys.clear();
      publicKeys.set(name, key = readPublicKey(bytes));
    }
    return key;
  }

  return {
    publicKey: (seed) => publicBytes(privateKey(seed)),
    sign: (seed, bytes) => new Uint8Array(native.sign(null, bytes, privateKey(seed))),
    verify(key, signature, bytes) {
      if (key.length !== KEY_LENGTH || signature.length !== 64) return false;
      const ready = publicKey(key);
      return ready !== null && native.verify(null, bytes, ready, signature);
    },
  };
}

/** The public half of a pair: the last bytes of its DER. */
function publicBytes(pair: native.KeyObject): Uint8Array {
  const der = native.createPublicKey(pair).export({ format: "der", type: "spki" });
  return new Uint8Array(der.subarray(der.length - KEY_LENGTH));
}

/** Null for what is not a key by the core's rule. The runtime takes keys of small order: they sign any text. */
function readPublicKey(bytes: Uint8Array): native.KeyObject | null {
  if (!isVerifyingKey(bytes)) return null;
  const der = Buffer.concat([hexToBytes(PUBLIC_PREFIX), bytes]);
  return native.createPublicKey({ key: der, format: "der", type: "spki" });
}
