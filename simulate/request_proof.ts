import type { RequestProof } from "../core/protocol/answer_signature.ts";
import { decodeBase64 } from "../core/protocol/base64.ts";

/** What of a sent request its answer's signature covers; null where it carries nothing that could be covered. */
export function requestProofOf(headers: Readonly<Record<string, string>>): RequestProof | null {
  const { "PBX-Nonce": nonce, "Content-Digest": digest } = headers;
  if (nonce !== undefined && digest !== undefined) return { kind: "enroll", nonce, digest };
  const signature = headers["PBX-Signature"] ?? "";
  return decodeBase64(signature)?.length === 64 ? { kind: "signed", signature } : null;
}
