import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes } from "@noble/hashes/utils.js";
import type { JsonValue } from "../json.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { parseBody } from "./json_body.ts";
import { Envelope, Release } from "./release.ts";
import { describeIssue } from "./schema_error.ts";
import { sign, signingPublicKey, type Verify, verifyInScript } from "./signing.ts";

/** The only payload type that is a release manifest (protocol §6). */
export const RELEASE_PAYLOAD_TYPE = "application/vnd.pbx.release+json";

/** Why a release manifest does not count. */
export interface ManifestRejected {
  readonly code: "manifest_rejected";
  readonly message: string;
}

/** DSSE's pre-authentication encoding: what is signed. Lengths are in bytes, decimal. */
export function pae(payloadType: string, payload: Uint8Array): Uint8Array {
  const encoder = new TextEncoder();
  const type = encoder.encode(payloadType);
  return concatBytes(
    encoder.encode(`DSSEv1 ${type.length} `),
    type,
    encoder.encode(` ${payload.length} `),
    payload,
  );
}

/** A release key's ID: the first 16 hex digits of SHA-256 of the 32-byte public key. */
export function keyId(publicKey: Uint8Array): string {
  return bytesToHex(sha256(publicKey)).slice(0, 16);
}

/** A release whose manifest was verified. */
export interface VerifiedRelease extends Release {
  /** The ID of the release key whose signature holds; the manifest itself does not say it. */
  readonly verified_by: string;
}

/**
 * Reads and verifies the manifest of release `version` (protocol §6). Nothing of the payload is looked at
 * before a signature by one of the `trusted` release keys holds. Signatures by other keys are ignored.
 * `verify`: how; in JavaScript unless told.
 */
export async function verifyRelease(
  body: Uint8Array,
  version: string,
  trusted: readonly Uint8Array[],
  verify: Verify = verifyInScript,
): Promise<Result<VerifiedRelease, ManifestRejected>> {
  if (trusted.length === 0) {
    return rejected("this agent was built without release keys and takes no release");
  }
  const envelope = readEnvelope(body);
  if (!envelope.ok) return envelope;
  const payload = decodeBase64(envelope.value.payload);
  if (payload === null) {
    return rejected("the envelope's payload is no standard base64 with padding");
  }
  const signer = await signerOf(envelope.value, payload, trusted, verify);
  if (signer === null) {
    return rejected(`no signature by a release key of this agent (${keyNames(trusted)}) holds`);
  }
  const release = readRelease(payload, version);
  return release.ok ? ok({ ...release.value, verified_by: signer }) : release;
}

/** An envelope around `payload`, signed with each of `seeds` in turn. */
export function signEnvelope(payload: Uint8Array, seeds: readonly Secret<Uint8Array>[]): Envelope {
  const signed = pae(RELEASE_PAYLOAD_TYPE, payload);
  return {
    payloadType: RELEASE_PAYLOAD_TYPE,
    payload: encodeBase64(payload),
    signatures: seeds.map((seed) => ({
      keyid: keyId(signingPublicKey(seed)),
      sig: encodeBase64(sign(seed, signed)),
    })),
  };
}

function readEnvelope(body: Uint8Array): Result<Envelope, ManifestRejected> {
  const json = readJson(body, "the envelope");
  if (!json.ok) return json;
  const envelope = Envelope.safeParse(json.value);
  if (!envelope.success) return rejected(`no DSSE envelope: ${describeIssue(envelope.error)}`);
  if (envelope.data.payloadType !== RELEASE_PAYLOAD_TYPE) {
    return rejected(`the envelope's payloadType is not ${RELEASE_PAYLOAD_TYPE}`);
  }
  return ok(envelope.data);
}

function readRelease(payload: Uint8Array, version: string): Result<Release, ManifestRejected> {
  const json = readJson(payload, "the signed payload");
  if (!json.ok) return json;
  const release = Release.safeParse(json.value);
  if (!release.success) return rejected(`no release manifest: ${describeIssue(release.error)}`);
  if (release.data.version !== version) {
    return rejected(`this is the manifest of release ${release.data.version}`);
  }
  return ok(release.data);
}

function readJson(bytes: Uint8Array, what: string): Result<JsonValue, ManifestRejected> {
  const json = parseBody(bytes);
  return json.ok ? json : rejected(json.error.message.replace("the body", what));
}

/**
 * Signatures of an envelope that are looked at, the first ones (trust.md T5): a release has one or two,
 * sixteen leave room for changes of keys, and a body has room for thousands that each cost a verification.
 */
const MAX_SIGNATURES = 16;

/** The ID of the first key whose signature holds; null where none does. */
async function signerOf(
  envelope: Envelope,
  payload: Uint8Array,
  trusted: readonly Uint8Array[],
  verify: Verify,
): Promise<string | null> {
  const signed = pae(envelope.payloadType, payload);
  const keys = new Map(trusted.map((key) => [keyId(key), key]));
  for (const { keyid = "", sig } of envelope.signatures.slice(0, MAX_SIGNATURES)) {
    const key = keys.get(keyid);
    const signature = key === undefined ? null : decodeBase64(sig);
    if (key === undefined || signature === null) continue;
    if (await verify(key, signature, signed)) return keyid;
  }
  return null;
}

function keyNames(trusted: readonly Uint8Array[]): string {
  return trusted.map(keyId).join(", ");
}

function rejected(message: string): Result<never, ManifestRejected> {
  return fail({ code: "manifest_rejected", message });
}
