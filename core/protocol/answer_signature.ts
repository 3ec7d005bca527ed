import { sha256 } from "@noble/hashes/sha2.js";
import { fail, ok, type Result } from "../result.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { keyId } from "./dsse.ts";
import { type Verify, verifyInScript } from "./signing.ts";

/**
 * Signed answers (trust.md T2): HTTP Message Signatures (RFC 9421) with Content-Digest (RFC 9530), in the one
 * form that this protocol has. Nothing else of the RFC is read: a header that is not byte for byte of this
 * form proves nothing.
 */

/** What of the request an answer's signature covers, so that it fits this one request only. */
export type RequestProof =
  /** A signed request: its `PBX-Signature`, which is never used twice. */
  | { readonly kind: "signed"; readonly signature: string }
  /** The enrollment, which is not signed: its `PBX-Nonce` and `Content-Digest`. */
  | { readonly kind: "enroll"; readonly nonce: string; readonly digest: string };

/** What of an answer is signed. */
export interface SignedAnswer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly request: RequestProof;
}

/** The headers of a signed answer, in lower case. */
export interface AnswerHeaders {
  readonly "content-digest": string;
  readonly "signature-input": string;
  readonly "signature": string;
}

const COMPONENTS = {
  signed: '("@status" "content-digest" "pbx-signature";req)',
  enroll: '("@status" "content-digest" "pbx-nonce";req "content-digest";req)',
} as const;

/** Computes what {@link contentDigest} does, by whatever means the program has for it. */
export type ContentDigest = (body: Uint8Array) => string | Promise<string>;

/** The value of `Content-Digest` for a body. */
export function contentDigest(body: Uint8Array): string {
  return digestValue(sha256(body));
}

/** The value of `Content-Digest` for a body with this SHA-256 (RFC 9530). */
export function digestValue(hash: Uint8Array): string {
  return `sha-256=:${encodeBase64(hash)}:`;
}

/**
 * The bytes that an answer's signature is over (RFC 9421 §2.5). `params`: the value of the signature input;
 * `digest`: the body's.
 */
export function signatureBase(
  { status, body, request }: SignedAnswer,
  params: string,
  digest = contentDigest(body),
): Uint8Array {
  const ofRequest = request.kind === "signed"
    ? [`"pbx-signature";req: ${request.signature}`]
    : [`"pbx-nonce";req: ${request.nonce}`, `"content-digest";req: ${request.digest}`];
  const lines = [
    `"@status": ${status}`,
    `"content-digest": ${digest}`,
    ...ofRequest,
    `"@signature-params": ${params}`,
  ];
  return new TextEncoder().encode(lines.join("\n"));
}

/** The headers that prove an answer. `created`: Unix time, whole seconds; nobody judges it. */
export function proveAnswer(
  answer: SignedAnswer,
  created: number,
  publicKey: Uint8Array,
  sign: (bytes: Uint8Array) => Uint8Array,
  digestOf: typeof contentDigest = contentDigest,
): AnswerHeaders {
  const digest = digestOf(answer.body);
  const components = COMPONENTS[answer.request.kind];
  const params = `${components};created=${created};keyid="${keyId(publicKey)}";alg="ed25519"`;
  return {
    "content-digest": digest,
    "signature-input": `pbx=${params}`,
    "signature": `pbx=:${encodeBase64(sign(signatureBase(answer, params, digest)))}:`,
  };
}

/** How a program computes what an answer's proof takes; in JavaScript where it has no means of its own. */
export interface AnswerWork {
  readonly verify?: Verify;
  readonly contentDigest?: ContentDigest;
}

/** The ID of the key that an answer names as its signer; it counts once {@link verifyAnswer} has held. */
export function namedSigner(headers: Readonly<Record<string, string>>): string | null {
  return INPUT.exec(headers["signature-input"] ?? "")?.[2] ?? null;
}

const INPUT = /^pbx=(\([^)]*\));created=[0-9]{1,15};keyid="([0-9a-f]{16})";alg="ed25519"$/;
const SIGNATURE = /^pbx=:([A-Za-z0-9+/]{86}==):$/;

/**
 * Whether one of `keys` signed this answer to this request. The error says what is wrong with the proof. The
 * body's digest is compared before any signature is computed.
 */
export async function verifyAnswer(
  answer: SignedAnswer,
  headers: Readonly<Record<string, string>>,
  keys: readonly Uint8Array[],
  { verify = verifyInScript, contentDigest: digestOf = contentDigest }: AnswerWork = {},
): Promise<Result<void, string>> {
  if (headers["content-encoding"] !== undefined) return fail("it has a Content-Encoding");
  const digest = headers["content-digest"];
  if (digest === undefined) return fail("it has no Content-Digest");
  if (digest !== await digestOf(answer.body)) {
    return fail("its Content-Digest is not that of its body");
  }
  const input = headers["signature-input"];
  const signed = headers["signature"];
  if (input === undefined || signed === undefined) return fail("it is not signed");
  const [, components, id] = INPUT.exec(input) ?? [];
  if (components !== COMPONENTS[answer.request.kind]) {
    return fail("its Signature-Input is not of the one form that counts");
  }
  const signature = decodeBase64(SIGNATURE.exec(signed)?.[1] ?? "");
  if (signature === null || signature.length !== 64) {
    return fail("its Signature is not of the one form that counts");
  }
  const key = keys.find((one) => keyId(one) === id);
  if (key === undefined) return fail(`the key ${id} is not one of portal_keys`);
  const base = signatureBase(answer, input.slice("pbx=".length), digest);
  return await verify(key, signature, base)
    ? ok(undefined)
    : fail("its signature does not hold for this answer to this request");
}
