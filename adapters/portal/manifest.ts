import type { JsonValue } from "../../core/json.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { keyId, pae, RELEASE_PAYLOAD_TYPE } from "../../core/protocol/dsse.ts";
import { ReleaseVersion } from "../../core/protocol/identifiers.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import { type Answer, json, refuse } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import type { ReleaseSigner, StoredRelease } from "./state.ts";

/** `GET /releases/{version}/manifest` (protocol §6). */
export function manifest(portal: Portal, version: string): Answer {
  if (!ReleaseVersion.safeParse(version).success) {
    return refuse(400, "invalid_request", "the path names no release version");
  }
  const release = portal.state.releases.get(version);
  if (release === undefined) return refuse(404, "unknown_release", "there is no such release");
  if (release.envelope !== undefined) return json(200, release.envelope);
  const make = () => json(200, envelopeOf(portal, release));
  return lookupIn(portal).of(release, "envelope", make);
}

/** What it takes to sign releases: the part of a portal that does. */
export type ReleaseSigning = Pick<Portal, "releaseKeys" | "random" | "origin">;

/** The signed envelope of a release, as its signers and its faults want it (protocol §6). */
export function envelopeOf(portal: ReleaseSigning, release: StoredRelease): JsonValue {
  const text = typeof release.payload === "string"
    ? release.payload
    : JSON.stringify(release.payload);
  const payload = new TextEncoder().encode(text.replaceAll("{portal}", portal.origin()));
  const signed = pae(RELEASE_PAYLOAD_TYPE, payload);
  const signatures = release.signedBy.map((signer) => {
    const { seed, shownAs } = keyOf(portal, signer);
    return { keyid: keyId(signingPublicKey(shownAs)), sig: encodeBase64(sign(seed, signed)) };
  });
  // Still the same JSON: only the signature can tell.
  const sent = release.tampered ? new Uint8Array([...payload, 0x20]) : payload;
  return { payloadType: RELEASE_PAYLOAD_TYPE, payload: encodeBase64(sent), signatures };
}

/** The key that signs, and the key whose ID stands beside the signature. */
function keyOf(
  portal: ReleaseSigning,
  signer: ReleaseSigner,
): { seed: Secret<Uint8Array>; shownAs: Secret<Uint8Array> } {
  const [first, second] = portal.releaseKeys;
  if (signer === "first") return { seed: first, shownAs: first };
  if (signer === "second") return { seed: second, shownAs: second };
  const stranger = new Secret(portal.random.bytes(32));
  return { seed: stranger, shownAs: signer === "impostor" ? first : stranger };
}
