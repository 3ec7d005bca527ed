import type { Sign } from "../../core/protocol/signing.ts";
import type { Secret } from "../../core/secret.ts";

/** What comes before the 32 bytes of an Ed25519 seed in PKCS #8 (RFC 8410). */
const PREFIX = Uint8Array.of(
  0x30,
  0x2e,
  2,
  1,
  0,
  0x30,
  5,
  6,
  3,
  0x2b,
  0x65,
  0x70,
  4,
  0x22,
  4,
  0x20,
);

/**
 * Ed25519 signatures by the runtime (WebCrypto): in constant time, and quick also where JavaScript is not
 * compiled. A key is made ready once, for as long as its seed is held.
 */
export function createNodeSign(subtle: SubtleCrypto = crypto.subtle): Sign {
  const keys = new WeakMap<Secret<Uint8Array>, Promise<CryptoKey>>();

  function keyOf(seed: Secret<Uint8Array>): Promise<CryptoKey> {
    let key = keys.get(seed);
    if (key === undefined) {
      const pkcs8 = new Uint8Array([...PREFIX, ...seed.reveal()]);
      keys.set(seed, key = subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]));
    }
    return key;
  }

  return async (seed, bytes) => {
    const signature = await subtle.sign("Ed25519", await keyOf(seed), new Uint8Array(bytes));
    return new Uint8Array(signature);
  };
}
