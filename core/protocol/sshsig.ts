import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { fail, ok, type Result } from "../result.ts";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { type Verify, verifyInScript } from "./signing.ts";

/**
 * OpenSSH signatures (PROTOCOL.sshsig, PROTOCOL.u2f of OpenSSH) in the profile of trust.md T4: Ed25519 keys,
 * on disk or in a security key, SHA-256 or SHA-512, one namespace.
 */

/** The kinds of keys that may approve. */
export const SSH_KEY_TYPES = ["ssh-ed25519", "sk-ssh-ed25519@openssh.com"] as const;
type SshKeyType = (typeof SSH_KEY_TYPES)[number];

/** A public key as OpenSSH writes it in one line. */
export interface SshPublicKey {
  readonly type: SshKeyType;
  /** 32 bytes, Ed25519. */
  readonly point: Uint8Array;
  /** What a security key calls the application, `ssh:` as a rule; null for a key on disk. */
  readonly application: string | null;
  /** The key as it stands in signatures and files: what tells two keys apart. */
  readonly blob: Uint8Array;
  /** `SHA256:...`, as ssh-keygen -l prints it. */
  readonly fingerprint: string;
  /** Names the owner; may be empty. */
  readonly comment: string;
}

const UTF8 = new TextEncoder();

/** Reads `type base64 comment`. Options before the type, certificates and other types are refused. */
export function parseSshPublicKey(line: string): Result<SshPublicKey, string> {
  const [, type = "", base64 = "", comment = ""] =
    /^([^ \t]+)[ \t]+([A-Za-z0-9+/=]+)(?:[ \t]+([^\r\n]*))?$/.exec(line.trim()) ?? [];
  if (!isKeyType(type)) return fail(`must begin with ${SSH_KEY_TYPES.join(" or ")}`);
  const blob = decodeBase64(base64);
  if (blob === null) return fail("has no valid base64 behind its type");
  const key = readKey(blob);
  if (key === null || key.type !== type) return fail(`is not a whole ${type} key`);
  return ok({ ...key, comment: comment.trim() });
}

function isKeyType(type: string): type is SshKeyType {
  return (SSH_KEY_TYPES as readonly string[]).includes(type);
}

function readKey(blob: Uint8Array): Omit<SshPublicKey, "comment"> | null {
  const reader = openReader(blob);
  const type = reader.text();
  const point = reader.bytes();
  if (type === null || !isKeyType(type) || point?.length !== 32) return null;
  const application = type === "ssh-ed25519" ? null : reader.text();
  if (!reader.isDone() || (type !== "ssh-ed25519" && application === null)) return null;
  const fingerprint = `SHA256:${encodeBase64(sha256(blob)).replace(/=+$/, "")}`;
  return { type, point, application, blob, fingerprint };
}

/** A signature, read but not verified. */
export interface SshSignature {
  readonly key: Omit<SshPublicKey, "comment">;
  readonly namespace: string;
  readonly hash: "sha256" | "sha512";
  readonly signature: Uint8Array;
  /** Of a security key: whether somebody touched it, and the bytes that it signed beside the text. */
  readonly touch: { readonly isPresent: boolean; readonly signed: Uint8Array } | null;
}

const BEGIN = "-----BEGIN SSH SIGNATURE-----";
const END = "-----END SSH SIGNATURE-----";
/** Longest armored block, characters (trust.md T4). */
const MAX_ARMORED = 4_096;
const MAGIC = UTF8.encode("SSHSIG");

/** Reads an armored signature; carriage returns and blanks around it do not matter. */
export function readSshSignature(armored: string): Result<SshSignature, string> {
  if (armored.length > MAX_ARMORED) {
    return fail(`the block is longer than ${MAX_ARMORED} characters`);
  }
  const lines = armored.replaceAll("\r", "").trim().split("\n");
  const isBlock = lines[0]?.trim() === BEGIN && lines.at(-1)?.trim() === END;
  if (!isBlock) return fail(`it is not one block from ${BEGIN} to ${END}`);
  const blob = decodeBase64(lines.slice(1, -1).map((line) => line.trim()).join(""));
  return blob === null ? fail("the block is not valid base64") : readBlob(blob);
}

function readBlob(blob: Uint8Array): Result<SshSignature, string> {
  const reader = openReader(blob);
  if (!reader.magic(MAGIC) || reader.number() !== 1) {
    return fail("it is not an SSHSIG of version 1");
  }
  const key = readKey(reader.bytes() ?? new Uint8Array());
  if (key === null) return fail(`its key is not ${SSH_KEY_TYPES.join(" or ")}`);
  const namespace = reader.text();
  const reserved = reader.bytes();
  const hash = reader.text();
  const signed = reader.bytes();
  if (namespace === null || reserved?.length !== 0 || signed === null || !reader.isDone()) {
    return fail("it is not a whole SSHSIG");
  }
  if (hash !== "sha256" && hash !== "sha512") return fail("its hash is not sha256 or sha512");
  const inner = openReader(signed);
  const type = inner.text();
  const signature = inner.bytes();
  if (type !== key.type || signature?.length !== 64) {
    return fail("its signature is not of its key's type");
  }
  const touch = key.application === null ? null : readTouch(inner, key.application);
  if (!inner.isDone() || (key.application !== null && touch === null)) {
    return fail("it is not a whole SSHSIG");
  }
  return ok({ key, namespace, hash, signature, touch });
}

/** User presence, the lowest bit of a security key's flags. */
const PRESENT = 0x01;

function readTouch(reader: Reader, application: string): SshSignature["touch"] {
  const rest = reader.rest(5);
  if (rest === null) return null;
  const isPresent = ((rest[0] ?? 0) & PRESENT) !== 0;
  return { isPresent, signed: concatBytes(sha256(UTF8.encode(application)), rest) };
}

/** Whether the signature is its key's over `message` in its namespace. Presence is for the caller to ask. */
export async function isSshSignatureOf(
  { key, namespace, hash, signature, touch }: SshSignature,
  message: Uint8Array,
  verify: Verify = verifyInScript,
): Promise<boolean> {
  const digest = hash === "sha256" ? sha256(message) : sha512(message);
  const text = concatBytes(
    MAGIC,
    packed(UTF8.encode(namespace)),
    packed(new Uint8Array()),
    packed(UTF8.encode(hash)),
    packed(digest),
  );
  const signed = touch === null ? text : concatBytes(touch.signed, sha256(text));
  return await verify(key.point, signature, signed);
}

/** SSH's string: four bytes of length, then the bytes (RFC 4251 §5). */
function packed(bytes: Uint8Array): Uint8Array {
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length);
  return concatBytes(length, bytes);
}

interface Reader {
  magic(expected: Uint8Array): boolean;
  number(): number | null;
  bytes(): Uint8Array | null;
  text(): string | null;
  /** The next `count` bytes. */
  rest(count: number): Uint8Array | null;
  isDone(): boolean;
}

function openReader(whole: Uint8Array): Reader {
  let at = 0;
  function rest(count: number): Uint8Array | null {
    if (at + count > whole.length) return null;
    return whole.slice(at, at += count);
  }
  function number(): number | null {
    const four = rest(4);
    return four === null ? null : new DataView(four.buffer).getUint32(0);
  }
  function bytes(): Uint8Array | null {
    const length = number();
    return length === null ? null : rest(length);
  }
  return {
    magic: (expected) => rest(expected.length)?.every((byte, i) => byte === expected[i]) === true,
    number,
    bytes,
    text() {
      const found = bytes();
      if (found === null) return null;
      try {
        return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(found);
      } catch {
        return null;
      }
    },
    rest,
    isDone: () => at === whole.length,
  };
}
