import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { EnrollAnswer, FirstStartManifest } from "./enroll.ts";
import { judgeK3sConfig, type K3sPolicyFacts } from "./k3s_policy.ts";
import type { Release } from "./release.ts";

/**
 * What k3s gets from the answer to the enrollment (trust.md T3): whoever can answer in the portal's place
 * chooses none of it beyond the list of T3 and what a release key has signed.
 */

/** What an answer is judged with. */
export interface FirstConfigFacts extends Omit<K3sPolicyFacts, "signed"> {
  /** The verified manifest of the answer's release; null: this program has no release keys to verify one. */
  readonly release: Pick<Release, "version" | "first_start" | "k3s"> | null;
  /** Lower-case hex SHA-256 of the k3s token's text that config.yaml pins; null: none. */
  readonly k3sTokenSha256: string | null;
  /** The k3s token of the answer, opened. */
  readonly token: string;
}

/** Why an answer is refused, as a condition. */
export interface FirstConfigRefusal {
  readonly code: "k3s_config_refused" | "unsigned_manifest" | "pin_mismatch";
  readonly message: string;
}

/** Why the answer may not be carried out; null where it may. */
export function judgeFirstConfig(
  { k3s, manifests }: Pick<EnrollAnswer, "k3s" | "manifests">,
  facts: FirstConfigFacts,
): FirstConfigRefusal | null {
  const { release, k3sTokenSha256, token } = facts;
  const config = judgeK3sConfig(k3s.config, { ...facts, signed: release?.k3s?.config ?? {} });
  if (config !== null) return { code: "k3s_config_refused", message: config.message };
  const unsigned = release === null ? null : unsignedManifest(manifests, release);
  if (unsigned !== null) return { code: "unsigned_manifest", message: unsigned };
  if (k3sTokenSha256 !== null && hashOf(token) !== k3sTokenSha256) {
    const message = "k3s.token: its SHA-256 is not the k3s_token_sha256 of config.yaml";
    return { code: "pin_mismatch", message };
  }
  return null;
}

function unsignedManifest(
  manifests: readonly FirstStartManifest[],
  { version, first_start: signed = {} }: Pick<Release, "version" | "first_start">,
): string | null {
  for (const { name, content } of manifests) {
    const known = Object.hasOwn(signed, name) ? signed[name] : undefined;
    if (known === undefined) {
      return `manifest ${name}: release ${version} signs no first-start manifest of this name`;
    }
    if (hashOf(content) !== known.sha256) {
      return `manifest ${name}: its SHA-256 is not the one that release ${version} signs`;
    }
  }
  return null;
}

/** Lower-case hex SHA-256 of a text's bytes in UTF-8. */
export function hashOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}
