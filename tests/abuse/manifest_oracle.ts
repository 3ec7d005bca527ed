/** Whether a release manifest counts, with WebCrypto and rules of its own. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { option } from "./limits_oracle.ts";
import {
  anything,
  each,
  is,
  label,
  map,
  maybe,
  member,
  object,
  type Rule,
  text,
  time,
  version,
  whole,
} from "./rules.ts";
import { readStrictly, type Value } from "./strict_json.ts";

const TYPE = "application/vnd.pbx.release+json";

/** Whether one of the `trusted` keys signed the envelope, as DSSE wants it. */
export async function isSigned(
  envelope: Value | undefined,
  trusted: readonly Uint8Array[],
): Promise<boolean> {
  const payload = bytesOf(member(envelope, "payload"));
  const signatures = member(envelope, "signatures");
  if (member(envelope, "payloadType") !== TYPE || payload === null) return false;
  if (!Array.isArray(signatures) || !signatures.every(isSignature)) return false;
  const head = new TextEncoder().encode(`DSSEv1 ${TYPE.length} ${TYPE} ${payload.length} `);
  const message = new Uint8Array([...head, ...payload]);
  for (const signature of signatures) {
    const sig = bytesOf(member(signature, "sig"));
    for (const key of trusted) {
      const name = createHash("sha256").update(key).digest("hex").slice(0, 16);
      if (sig === null || member(signature, "keyid") !== name) continue;
      if (await verifies(key, sig, message) && isRelease(readStrictly(payload), "1.4.0")) {
        return true;
      }
    }
  }
  return false;
}

async function verifies(key: Uint8Array, signature: Uint8Array, message: Uint8Array) {
  const bytes = new Uint8Array(key);
  const imported = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  return await crypto.subtle.verify(
    "Ed25519",
    imported,
    new Uint8Array(signature),
    new Uint8Array(message),
  );
}

function isSignature(value: Value): boolean {
  const keyid = member(value, "keyid");
  return typeof member(value, "sig") === "string" &&
    (keyid === undefined || typeof keyid === "string");
}

function bytesOf(value: Value | undefined): Uint8Array | null {
  if (typeof value !== "string") return null;
  const bytes = Buffer.from(value, "base64");
  return bytes.toString("base64") === value ? new Uint8Array(bytes) : null;
}

/** Whether a payload is the release of that version (protocol §6), by rules written down again. */
export function isRelease(value: Value | undefined, version: string): boolean {
  return member(value, "version") === version && releaseRule(value);
}

const artifact = object({
  url: isArtifactUrl,
  sha256: is(/^[0-9a-f]{64}$/),
  size: whole(1),
  encoding: maybe(is(/^gzip$/)),
  encoded_size: maybe(whole(1)),
}, "ignored");

const artifacts = object({ amd64: maybe(artifact), arm64: maybe(artifact) }, "ignored");

const workload = object({ namespace: text, name: text }, "ignored");

const health: Rule = (value) =>
  [
    object({ deployment: workload }, "ignored"),
    object({ daemonset: workload }, "ignored"),
    object({ helmchart: object({ name: text }, "ignored") }, "ignored"),
    object({
      condition: object({
        apiVersion: text,
        kind: text,
        namespace: maybe(text),
        name: text,
        type: text,
      }, "ignored"),
    }, "ignored"),
  ].some((form) => form(value));

const addon = object({
  requires: maybe(each(label)),
  conflicts: maybe(each(label)),
  options: map(option),
  objects: anything,
  secret_data: maybe(map(text)),
  health: maybe(each(health)),
  manifest: maybe(label),
  removal: maybe(is(/^(?:delete|platform)$/)),
}, "ignored");

const releaseRule = object({
  version,
  created_at: time,
  sequence: maybe(whole(0)),
  minimum: maybe(object({ sequence: whole(0) }, "ignored")),
  expires_at: maybe(time),
  agent: object({ version, artifacts }, "ignored"),
  image: object({ k3s_version: text, artifacts }, "ignored"),
  addons: (value) =>
    map(addon)(value) && [...(value as Map<string, Value>).keys()].every((name) => label(name)),
  first_start: maybe((value) =>
    map(object({ sha256: is(/^[0-9a-f]{64}$/) }, "ignored"))(value) &&
    [...(value as Map<string, Value>).keys()].every((name) => label(name))
  ),
  k3s: maybe(object({
    config: maybe(map(each(anything))),
    registries: maybe(each(text)),
  }, "ignored")),
}, "ignored");

function isArtifactUrl(value: Value | undefined): boolean {
  if (typeof value !== "string") return false;
  try {
    const { protocol, hostname } = new URL(value);
    return protocol === "https:" ||
      protocol === "http:" && /^(?:localhost|\[::1\]|127(?:\.\d+){3})$/.test(hostname);
  } catch {
    return false;
  }
}
