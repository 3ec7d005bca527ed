import { x25519 } from "@noble/curves/ed25519.js";
import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import nacl from "tweetnacl";
import sealedBox from "tweetnacl-sealedbox-js";
import { fail, ok, type Result } from "../result.ts";
import { Secret } from "../secret.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { readBoxText } from "./bound_box.ts";

/** A pair of X25519 keys, 32 bytes each, that sealed boxes are opened with. */
export interface SealingKey {
  readonly secretKey: Secret<Uint8Array>;
  readonly publicKey: Uint8Array;
  /** How boxes are opened with it; in JavaScript unless told. */
  readonly openBox?: OpenBox;
}

/** The text in a sealed box (at least 48 bytes), or null where it is for another key or was changed. */
export type OpenBox = (box: Uint8Array, key: SealingKey) => Uint8Array | null;

/** Seals as {@link seal} does, by whatever means the program has for it. */
export type Seal = (
  plaintext: Uint8Array,
  publicKey: Uint8Array,
  ephemeralSecret: Uint8Array,
) => string;

/** Why a box does not open. The message never tells anything of its content. */
export interface UndecryptableSecret {
  readonly code: "undecryptable_secret";
  readonly message: string;
}

/** A sealed box is the ephemeral public key (32 bytes), the authenticator (16) and the text. */
const BOX_OVERHEAD = 48;
const NONCE_LENGTH = 24;

/** The package is CommonJS without types; this is the part of it that is used. */
const { open }: {
  open(box: Uint8Array, publicKey: Uint8Array, secretKey: Uint8Array): Uint8Array | null;
} = sealedBox;

/**
 * Opens a sealed box (libsodium's `crypto_box_seal`, protocol §2) with the first of `keys` that fits: the
 * current pair, and during a rotation the other one. Gives the secret without the header of a bound box
 * (trust.md T1): whether that fits was judged when the box arrived. A text that is not UTF-8 counts as a box
 * that does not open, because nothing could use it unchanged.
 */
export function openSealed(
  box: string,
  keys: readonly SealingKey[],
): Result<Secret<string>, UndecryptableSecret> {
  const text = openWhole(box, keys);
  return text.ok ? ok(readBoxText(text.value).secret) : text;
}

/** The same with the header of a bound box, where there is one. */
export function openWhole(
  box: string,
  keys: readonly SealingKey[],
): Result<Secret<string>, UndecryptableSecret> {
  const bytes = decodeBase64(box);
  if (bytes === null) return undecryptable("is no standard base64 with padding");
  if (bytes.length < BOX_OVERHEAD) {
    return undecryptable(
      `is ${bytes.length} bytes long, a sealed box has at least ${BOX_OVERHEAD}`,
    );
  }
  for (const key of keys) {
    const text = key.openBox === undefined
      ? open(bytes, key.publicKey, key.secretKey.reveal())
      : key.openBox(bytes, key);
    if (text !== null) return decodeText(text);
  }
  return undecryptable("opens with none of this agent's keys");
}

/**
 * Seals `plaintext` to `publicKey` as `crypto_box_seal` does. The caller draws the 32 random bytes of
 * `ephemeralSecret`, once for each box, and forgets them.
 */
export function seal(
  plaintext: Uint8Array,
  publicKey: Uint8Array,
  ephemeralSecret: Uint8Array,
): string {
  const ephemeralPublic = x25519.getPublicKey(ephemeralSecret);
  const nonce = blake2b(concatBytes(ephemeralPublic, publicKey), { dkLen: NONCE_LENGTH });
  const box = nacl.box(plaintext, nonce, publicKey, ephemeralSecret);
  return encodeBase64(concatBytes(ephemeralPublic, box));
}

/** The 32-byte X25519 public key of a 32-byte secret key. */
export function sealingPublicKey(secretKey: Secret<Uint8Array>): Uint8Array {
  return x25519.getPublicKey(secretKey.reveal());
}

function decodeText(bytes: Uint8Array): Result<Secret<string>, UndecryptableSecret> {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return ok(new Secret(decoder.decode(bytes)));
  } catch {
    return undecryptable("holds a text that is no UTF-8");
  }
}

function undecryptable(why: string): Result<never, UndecryptableSecret> {
  return fail({ code: "undecryptable_secret", message: `the sealed box ${why}` });
}
