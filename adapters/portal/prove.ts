import { proveAnswer, type RequestProof } from "../../core/protocol/answer_signature.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import type { ProofFault } from "./faults.ts";
import type { Answer, WireRequest } from "./http/message.ts";
import type { Portal } from "./portal.ts";
import { spoilProof } from "./spoil_proof.ts";

/** What of a request its answer's signature covers; null where it carries nothing that could be covered. */
export function requestProofOf(
  { base }: Pick<Portal, "base">,
  { headers, target }: Pick<WireRequest, "headers" | "target">,
): RequestProof | null {
  const path = target.replace(/\?.*$/, "");
  if (path === `${base}/enroll`) {
    const [nonce = "", digest] = [headers.get("pbx-nonce"), headers.get("content-digest")];
    const isThere = decodeBase64(nonce)?.length === 16 && digest !== undefined;
    return isThere ? { kind: "enroll", nonce, digest } : null;
  }
  if (!path.startsWith(`${base}/`)) return null;
  const signature = headers.get("pbx-signature") ?? "";
  return decodeBase64(signature)?.length === 64 ? { kind: "signed", signature } : null;
}

/** Proves an answer under 500 to a request, or gets it wrong as `fault` says. */
export function prove(
  portal: Portal,
  request: WireRequest,
  answer: Answer,
  fault?: ProofFault,
): Answer {
  const { answerKey, memory } = portal;
  const proof = requestProofOf(portal, request);
  if (answerKey === undefined || answer.status >= 500 || proof === null) return answer;
  const created = Math.max(0, Math.floor(portal.now() / 1000));
  const sign = (to: Answer, about = proof, key = answerKey): Answer => {
    const { status, body, headers } = to;
    const { publicKey, contentDigest } = key;
    const proven = { status, body, request: about };
    const headersOfProof = proveAnswer(proven, created, publicKey, key.sign, contentDigest);
    return { status, body, headers: { ...headers, ...headersOfProof } };
  };
  const endpoint = request.target.slice(portal.base.length).split("/")[1] ?? "";
  const before = memory.proven.get(endpoint);
  if (fault === "replayed") return before ?? answer;
  if (fault !== undefined) {
    return spoilProof(fault, answer, { sign, key: answerKey, request: proof });
  }
  const proven = sign(answer);
  // Only what the protocol has is answered 200, so these are few.
  if (answer.status === 200) memory.proven.set(endpoint, proven);
  return proven;
}
