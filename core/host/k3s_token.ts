import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { Secret } from "../secret.ts";

/** A full token: `K10`, the hash of the cluster's authority, user and password. */
const FULL = /^K10(?:[0-9a-f]{64})?::[^:]*:(.+)$/s;

/**
 * How k3s calls a token without telling it: the first 12 hex digits of the SHA-256 of its password (k3s
 * fact C). A bare token is its own password.
 */
export function tokenHash(token: Secret): string {
  return bytesToHex(sha256(utf8ToBytes(tokenPassword(token).reveal()))).slice(0, 12);
}

/** The password in a token: that by which servers know each other. */
export function tokenPassword(token: Secret): Secret {
  const text = token.reveal().trim();
  return new Secret(FULL.exec(text)?.[1] ?? text);
}
