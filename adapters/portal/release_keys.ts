import { decodeBase64 } from "../../core/protocol/base64.ts";
import { Secret } from "../../core/secret.ts";

/**
 * Reads the lab's release keys: `{"private_keys": [<base64 of a 32-byte Ed25519 seed>, <another>]}`.
 * Throws where the text is anything else.
 */
export function parseReleaseKeys(text: string): readonly [Secret<Uint8Array>, Secret<Uint8Array>] {
  const keys: unknown = JSON.parse(text)?.private_keys;
  const seeds = Array.isArray(keys) ? keys.map((key) => decodeBase64(String(key))) : [];
  const [first, second] = seeds;
  if (seeds.length !== 2 || first?.length !== 32 || second?.length !== 32) {
    throw new Error("private_keys must be base64 of two 32-byte Ed25519 seeds");
  }
  return [new Secret<Uint8Array>(first), new Secret<Uint8Array>(second)];
}
