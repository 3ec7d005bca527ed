import type { ContentDigest } from "./answer_signature.ts";
import type { DerivePublicKeys } from "./public_keys.ts";
import type { OpenBox, Seal } from "./sealing.ts";
import type { HashBody, Sign, Verify } from "./signing.ts";

/** How a program computes what takes long. Whatever it has no means of its own for is done in JavaScript. */
export interface KeyWork {
  /** How requests are signed. */
  readonly sign?: Sign;
  /** How releases and answers are verified. */
  readonly verify?: Verify;
  /** How sealed boxes are opened. */
  readonly openBox?: OpenBox;
  /** How what is stored is sealed anew. */
  readonly seal?: Seal;
  /** How public keys are derived. */
  readonly publicKeys?: DerivePublicKeys;
  /** How the bodies of requests are hashed. */
  readonly hashBody?: HashBody;
  /** How the bodies of answers are hashed. */
  readonly contentDigest?: ContentDigest;
}
