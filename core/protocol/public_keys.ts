import type { Secret } from "../secret.ts";
import { sealingPublicKey } from "./sealing.ts";
import { signingPublicKey } from "./signing.ts";

/** The public halves of an agent's keys, 32 bytes each, by whatever means the program has for them. */
export interface DerivePublicKeys {
  /** The Ed25519 key of a 32-byte seed. */
  signing(seed: Secret<Uint8Array>): Uint8Array;
  /** The X25519 key of a 32-byte secret key. */
  sealing(secretKey: Secret<Uint8Array>): Uint8Array;
}

/** In JavaScript, as every program can. */
export const PUBLIC_KEYS_IN_SCRIPT: DerivePublicKeys = {
  signing: signingPublicKey,
  sealing: sealingPublicKey,
};
