import { gzipSync } from "node:zlib";
import { contentDigest, type RequestProof } from "../../core/protocol/answer_signature.ts";
import { decodeBase64, encodeBase64 } from "../../core/protocol/base64.ts";
import { Secret } from "../../core/secret.ts";
import { type AnswerKey, keyOf } from "./answer_key.ts";
import type { ProofFault } from "./faults.ts";
import type { Answer } from "./http/message.ts";

/** What a wrong proof is made with. */
export interface Signing {
  /** Proves an answer: to the request at hand, with the portal's key, where not said otherwise. */
  readonly sign: (answer: Answer, request?: RequestProof, key?: AnswerKey) => Answer;
  readonly key: AnswerKey;
  /** The request at hand. */
  readonly request: RequestProof;
}

const UTF8 = new TextEncoder();
/** A key that no agent trusts. */
const STRANGER = new Secret(new Uint8Array(32).fill(0x5a));

/** An answer whose proof does not hold, in the way that `fault` says. */
export function spoilProof(
  fault: Exclude<ProofFault, "replayed">,
  answer: Answer,
  { sign, key, request }: Signing,
): Answer {
  const stranger = keyOf(STRANGER);
  switch (fault) {
    case "unsigned":
      return answer;
    case "other_request":
      return sign(answer, anotherLike(request));
    case "wrong_key":
      return sign(answer, undefined, stranger);
    case "impostor":
      return sign(answer, undefined, { ...stranger, publicKey: key.publicKey });
    case "component_missing":
      return leavingOut(sign(answer), answer.status, key);
    case "extra_parameter": {
      const whole = sign(answer);
      return withHeaders(whole, {
        "signature-input": `${header(whole, "signature-input")};tag="x"`,
      });
    }
    case "two_signatures": {
      const whole = sign(answer);
      const twice = (name: string) => ({
        [name]: `${header(whole, name)}, ${header(whole, name)}`,
      });
      return withHeaders(whole, { ...twice("signature-input"), ...twice("signature") });
    }
    case "content_encoding": {
      const body = new Uint8Array(gzipSync(answer.body));
      return withHeaders(sign({ ...answer, body }), { "content-encoding": "gzip" });
    }
    case "wrong_digest":
      return withHeaders(sign(answer), { "content-digest": contentDigest(UTF8.encode("other")) });
    case "tampered": {
      // Still the same JSON for a reader that does not look at the bytes.
      const whole = sign(answer);
      return { ...whole, body: UTF8.encode(`${new TextDecoder().decode(whole.body)} `) };
    }
  }
}

/** A request that is not the one at hand. */
function anotherLike(request: RequestProof): RequestProof {
  const text = request.kind === "signed" ? request.signature : request.nonce;
  const bytes = decodeBase64(text) ?? new Uint8Array(0);
  const other = encodeBase64(bytes.map((byte) => byte ^ 1));
  return request.kind === "signed"
    ? { kind: "signed", signature: other }
    : { ...request, nonce: other };
}

/** A signature that holds by RFC 9421 and covers the status alone: not the body, and not the request. */
function leavingOut(whole: Answer, status: number, key: AnswerKey): Answer {
  const input = header(whole, "signature-input").replace(/\([^)]*\)/, '("@status")');
  const params = input.slice("pbx=".length);
  const base = UTF8.encode(`"@status": ${status}\n"@signature-params": ${params}`);
  const signature = `pbx=:${encodeBase64(key.sign(base))}:`;
  return withHeaders(whole, { "signature-input": input, signature });
}

function header({ headers }: Answer, name: string): string {
  return headers[name] ?? "";
}

function withHeaders(answer: Answer, headers: Answer["headers"]): Answer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}
