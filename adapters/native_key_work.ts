import type { KeyWork } from "../core/protocol/key_work.ts";
import { nativeContentDigest, nativeHashBody } from "./native_hash.ts";
import { createNativeSealing } from "./native_sealing.ts";
import { createNativeSigning } from "./native_signing.ts";

/** All that an agent computes with keys, by the runtime's own code. For fleets, as native_signing.ts. */
export function createNativeKeyWork(): Required<KeyWork> {
  const signing = createNativeSigning();
  const sealing = createNativeSealing();
  return {
    sign: signing.sign,
    verify: (...signed) => Promise.resolve(signing.verify(...signed)),
    openBox: sealing.openBox,
    seal: sealing.seal,
    publicKeys: { signing: signing.publicKey, sealing: sealing.publicKey },
    hashBody: nativeHashBody,
    contentDigest: nativeContentDigest,
  };
}
