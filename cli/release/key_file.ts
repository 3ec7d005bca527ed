import { randomBytes, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { decodeBase64, encodeBase64 } from "../../core/protocol/base64.ts";
import { keyId } from "../../core/protocol/dsse.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";

/** A release key at rest: everything but the seed is public. Byte strings are base64. */
export interface KeyFile {
  readonly format: 1;
  readonly key_id: string;
  readonly public_key: string;
  /** RFC 7914; `n` is the cost, a power of two. */
  readonly scrypt: { readonly n: number; readonly r: 8; readonly p: 1; readonly salt: string };
  /** AES-256-GCM over the 32-byte seed, the public key as additional data; the tag is at the end. */
  readonly nonce: string;
  readonly sealed_seed: string;
}

/** 128 MiB and about half a second for every guess at a passphrase. */
const COST = 2 ** 17;
const MAX_COST = 2 ** 20;
const SHORTEST_PASSPHRASE = 12;

/** Encrypts the 32-byte `seed`; `cost` is scrypt's. The error is for people. */
export async function sealKey(
  seed: Secret<Uint8Array>,
  passphrase: Secret,
  cost: number = COST,
): Promise<Result<KeyFile, string>> {
  if ([...passphrase.reveal()].length < SHORTEST_PASSPHRASE) {
    return fail(`the passphrase must have at least ${SHORTEST_PASSPHRASE} characters`);
  }
  const publicKey = signingPublicKey(seed);
  const salt = new Uint8Array(randomBytes(16));
  const nonce = new Uint8Array(randomBytes(12));
  const key = await wrappingKey(passphrase, salt, cost);
  const sealed = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv: nonce, additionalData: new Uint8Array(publicKey) },
    key,
    new Uint8Array(seed.reveal()),
  );
  return ok({
    format: 1,
    key_id: keyId(publicKey),
    public_key: encodeBase64(publicKey),
    scrypt: { n: cost, r: 8, p: 1, salt: encodeBase64(salt) },
    nonce: encodeBase64(nonce),
    sealed_seed: encodeBase64(new Uint8Array(sealed)),
  });
}

/** Decrypts the seed. The error is for people and says nothing about the passphrase but that it is wrong. */
export async function openKey(
  file: KeyFile,
  passphrase: Secret,
): Promise<Result<Secret<Uint8Array>, string>> {
  const [salt, nonce, sealed, publicKey] = [
    ...[file.scrypt.salt, file.nonce, file.sealed_seed, file.public_key],
  ].map((text) => decodeBase64(text));
  if (!salt || nonce?.length !== 12 || !sealed || publicKey?.length !== 32) {
    return fail("the key file is damaged");
  }
  const key = await wrappingKey(passphrase, salt, file.scrypt.n);
  const algorithm = { name: "AES-GCM", iv: nonce, additionalData: publicKey };
  const opened = await crypto.subtle.decrypt(algorithm, key, sealed).catch(() => null);
  if (opened === null) return fail("the passphrase is wrong, or the key file was altered");
  const seed = new Secret(new Uint8Array(opened));
  return keyId(signingPublicKey(seed)) === file.key_id
    ? ok(seed)
    : fail("the key file was altered: its public key is not the private one's");
}

/** Reads a key file's text. The error is for people. */
export function parseKeyFile(text: string): Result<KeyFile, string> {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return fail("is no JSON");
  }
  const { format, key_id, public_key, nonce, sealed_seed } = value ?? {};
  if (format !== 1) return fail("is no key file of this version");
  const texts = [key_id, public_key, nonce, sealed_seed, value.scrypt?.salt];
  if (texts.some((each) => typeof each !== "string")) return fail("lacks a part");
  const { n, r, p } = value.scrypt;
  // A file must not decide how much memory this machine spends on it.
  if (!Number.isInteger(n) || n < 2 || n > MAX_COST || (n & n - 1) !== 0 || r !== 8 || p !== 1) {
    return fail("asks for a key derivation that is not allowed");
  }
  return ok(value);
}

async function wrappingKey(passphrase: Secret, salt: Uint8Array, n: number): Promise<CryptoKey> {
  const derive = promisify<string, Uint8Array, number, object, Uint8Array>(scrypt);
  const options = { N: n, r: 8, p: 1, maxmem: 256 * n * 8 };
  const bytes = await derive(passphrase.reveal().normalize("NFC"), salt, 32, options);
  const usages: KeyUsage[] = ["encrypt", "decrypt"];
  return await crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, usages);
}
