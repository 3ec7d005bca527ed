import { blake2b } from "@noble/hashes/blake2.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import { Buffer } from "node:buffer";
import * as native from "node:crypto";
import nacl from "tweetnacl";
import { encodeBase64 } from "../core/protocol/base64.ts";
import type { SealingKey } from "../core/protocol/sealing.ts";
import type { Secret } from "../core/secret.ts";

/**
 * Sealed boxes whose costly part, X25519, is the runtime's own code: the same bytes as those of
 * core/protocol/sealing.ts. For fleets and their portal, as native_signing.ts.
 */
export interface NativeSealing {
  /** The text in a sealed box of at least 48 bytes, or null. */
  openBox(box: Uint8Array, key: SealingKey): Uint8Array | null;
  /** The 32-byte public key of a 32-byte secret key. */
  publicKey(secretKey: Secret<Uint8Array>): Uint8Array;
  /** Seals as `seal` does; the caller draws `ephemeralSecret` once for each box. */
  seal(plaintext: Uint8Array, publicKey: Uint8Array, ephemeralSecret: Uint8Array): string;
}

/** What comes before the 32 bytes of a key in DER (RFC 8410). */
const PRIVATE_PREFIX = "302e020100300506032b656e04220420";
const PUBLIC_PREFIX = "302a300506032b656e032100";
const KEY_LENGTH = 32;
const NONCE_LENGTH = 24;
/** HSalsa20's constant, "expand 32-byte k". */
const SIGMA = "657870616e642033322d62797465206b";

/** The part of tweetnacl beneath its boxes, which its types leave out. */
interface LowLevel {
  crypto_core_hsalsa20(out: Uint8Array, input: Uint8Array, key: Uint8Array, c: Uint8Array): void;
}

/** So many keys of boxes are kept for a private key: those of what an agent opens in its first minute. */
const MOST_BOX_KEYS = 16;

/**
 * Private keys are made ready, and their public ones derived, once for as long as their bytes are held.
 * What an agent opens again, as it does twice during its start, is opened with the box's key of before.
 */
export function createNativeSealing(): NativeSealing {
  const privateKeys = new WeakMap<Secret<Uint8Array>, native.KeyObject>();
  const publicKeys = new WeakMap<Secret<Uint8Array>, Uint8Array>();
  const boxKeys = new WeakMap<Secret<Uint8Array>, Map<string, Uint8Array>>();
  const { crypto_core_hsalsa20: hsalsa20 } = (nacl as unknown as { lowlevel: LowLevel }).lowlevel;
  const sigma = hexToBytes(SIGMA);

  function ready(secretKey: Secret<Uint8Array>): native.KeyObject {
    let key = privateKeys.get(secretKey);
    if (key === undefined) privateKeys.set(secretKey, key = privateKey(secretKey.reveal()));
    return key;
  }

  /** The key of the box between two pairs, as crypto_box_beforenm makes it; null for no point. */
  function boxKey(secret: native.KeyObject, peer: Uint8Array): Uint8Array | null {
    let shared: Uint8Array;
    try {
      shared = native.diffieHellman({ privateKey: secret, publicKey: publicKey(peer) });
    } catch {
      return null;
    }
    const key = new Uint8Array(KEY_LENGTH);
    hsalsa20(key, new Uint8Array(16), new Uint8Array(shared), sigma);
    return key;
  }

  /** The same for a box that may have been opened before: its ephemeral key is no other box's. */
  function boxKeyAgain(secretKey: Secret<Uint8Array>, ephemeral: Uint8Array): Uint8Array | null {
    let known = boxKeys.get(secretKey);
    if (known === undefined) boxKeys.set(secretKey, known = new Map());
    const name = String.fromCharCode(...ephemeral);
    const before = known.get(name);
    if (before !== undefined) return before;
    const key = boxKey(ready(secretKey), ephemeral);
    if (known.size >= MOST_BOX_KEYS) known.clear();
    if (key !== null) known.set(name, key);
    return key;
  }

  return {
    publicKey(secretKey) {
      let bytes = publicKeys.get(secretKey);
      if (bytes === undefined) publicKeys.set(secretKey, bytes = publicBytes(ready(secretKey)));
      return bytes;
    },
    openBox(box, { secretKey, publicKey }) {
      const ephemeral = box.subarray(0, KEY_LENGTH);
      const key = boxKeyAgain(secretKey, ephemeral);
      if (key === null) return null;
      return nacl.secretbox.open(box.slice(KEY_LENGTH), nonceOf(ephemeral, publicKey), key);
    },
    seal(plaintext, peer, ephemeralSecret) {
      const secret = privateKey(ephemeralSecret);
      const ephemeral = publicBytes(secret);
      const key = boxKey(secret, peer);
      if (key === null) throw new Error("the key to seal to is no X25519 key");
      const box = nacl.secretbox(plaintext, nonceOf(ephemeral, peer), key);
      return encodeBase64(Buffer.concat([ephemeral, box]));
    },
  };
}

function privateKey(bytes: Uint8Array): native.KeyObject {
  const key = Buffer.concat([hexToBytes(PRIVATE_PREFIX), bytes]);
  return native.createPrivateKey({ key, format: "der", type: "pkcs8" });
}

function publicKey(bytes: Uint8Array): native.KeyObject {
  const key = Buffer.concat([hexToBytes(PUBLIC_PREFIX), bytes]);
  return native.createPublicKey({ key, format: "der", type: "spki" });
}

/** The public half of a pair: the last bytes of its DER. */
function publicBytes(secret: native.KeyObject): Uint8Array {
  const der = native.createPublicKey(secret).export({ format: "der", type: "spki" });
  return new Uint8Array(der.subarray(der.length - KEY_LENGTH));
}

function nonceOf(ephemeral: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return blake2b(Buffer.concat([ephemeral, publicKey]), { dkLen: NONCE_LENGTH });
}
