import { createHash } from "node:crypto";
import { digestValue } from "../core/protocol/answer_signature.ts";

/**
 * The SHA-256 of a body in lower-case hex by the runtime's own code: what core/protocol/signing.ts does, in a
 * fifth of the time. For fleets and their portal, as native_signing.ts.
 */
export function nativeHashBody(body: Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** The value of `Content-Digest` for a body: what core/protocol/answer_signature.ts does, by the runtime. */
export function nativeContentDigest(body: Uint8Array): string {
  return digestValue(createHash("sha256").update(body).digest());
}
