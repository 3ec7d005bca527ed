import { bytesToHex } from "@noble/hashes/utils.js";
import { contentDigest, digestValue } from "../../core/protocol/answer_signature.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import type { KeyWork } from "../../core/protocol/key_work.ts";
import {
  hashBody,
  isVerifyingKey,
  sign,
  type Verify,
  verify,
} from "../../core/protocol/signing.ts";
import { createNodeSign } from "./sign.ts";

/** What of {@link KeyWork} the runtime does on a node. */
export type NodeKeyWork = Required<Pick<KeyWork, "sign" | "verify" | "hashBody" | "contentDigest">>;

/**
 * What every sync needs, by the runtime (WebCrypto): quick also where JavaScript is not compiled, and at hand
 * from the start, which `node:crypto` is not. In JavaScript where the runtime lacks an algorithm. No cycle
 * opens a sealed box: those stay in JavaScript.
 */
export function createNodeKeyWork(subtle: SubtleCrypto = crypto.subtle): NodeKeyWork {
  const signHere = createNodeSign(subtle);
  const verifyHere = createNodeVerify(subtle);
  const sha256 = async (body: Uint8Array) =>
    new Uint8Array(await subtle.digest("SHA-256", new Uint8Array(body)));
  return {
    sign: (...given) => orElse(async () => await signHere(...given), () => sign(...given)),
    verify: (...given) => orElse(() => verifyHere(...given), () => verify(...given)),
    hashBody: (body) => orElse(async () => bytesToHex(await sha256(body)), () => hashBody(body)),
    contentDigest: (body) =>
      orElse(async () => digestValue(await sha256(body)), () => contentDigest(body)),
  };
}

/** Keys are made ready once. There are few: those of the configuration and of the program. */
function createNodeVerify(subtle: SubtleCrypto): Verify {
  const keys = new Map<string, Promise<CryptoKey> | null>();

  function keyOf(bytes: Uint8Array): Promise<CryptoKey> | null {
    const name = encodeBase64(bytes);
    let key = keys.get(name);
    if (key === undefined) {
      key = isVerifyingKey(bytes)
        ? subtle.importKey("raw", new Uint8Array(bytes), "Ed25519", false, ["verify"])
        : null;
      keys.set(name, key);
    }
    return key;
  }

  return async (publicKey, signature, bytes) => {
    const key = keyOf(publicKey);
    if (key === null) return false;
    const [signed, by] = [new Uint8Array(bytes), new Uint8Array(signature)];
    return await subtle.verify("Ed25519", await key, by, signed);
  };
}

/** What the runtime gives, or `script` where it lacks the algorithm. */
async function orElse<T>(native: () => Promise<T>, script: () => T): Promise<T> {
  try {
    return await native();
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") return script();
    throw error;
  }
}
