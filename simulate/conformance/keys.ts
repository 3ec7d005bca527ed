import type { Random } from "../../core/ports/random.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import type { PublicKeys } from "../../core/protocol/enroll.ts";
import { type SealingKey, sealingPublicKey } from "../../core/protocol/sealing.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";

/** The key pairs of an agent that the kit plays. */
export interface Keys {
  /** 32-byte Ed25519 seed. */
  readonly signing: Secret<Uint8Array>;
  readonly sealing: SealingKey;
  readonly public: PublicKeys;
}

/** New pairs. */
export function newKeys(random: Random): Keys {
  const signing = new Secret(random.bytes(32));
  const secretKey = new Secret(random.bytes(32));
  const publicKey = sealingPublicKey(secretKey);
  return {
    signing,
    sealing: { secretKey, publicKey },
    public: {
      signing: encodeBase64(signingPublicKey(signing)),
      sealing: encodeBase64(publicKey),
    },
  };
}
