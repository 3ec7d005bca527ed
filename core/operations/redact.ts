import { encodeBase64 } from "../protocol/base64.ts";
import type { Secret } from "../secret.ts";

/** Takes secrets out of text that leaves the node or stays in a log. */
export interface Redactor {
  /** From now on this value is removed wherever it stands, in base64 too. */
  know(secret: Secret): void;
  redact(text: string): string;
}

const REDACTED = "[secret]";
/** Shorter values would tear ordinary words apart, and are no secrets of ours. */
const MIN_LENGTH = 6;

/**
 * What looks like a secret, whoever made it: the rule of last resort for output of programs that the
 * agent knows no secret of. Each keeps the words before the value, so that a line stays readable.
 */
const PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g,
  // A k3s token: K10, the CA's hash, then user and password.
  /\bK10[0-9a-f]{64}::\S+/g,
  // A JSON web token, such as a ServiceAccount's.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(?<=\b(?:Bearer|Basic)\s+)[\w+/.=~-]{8,}/gi,
  // Keys of a file or an environment: `agent-token: x`, `"secret_key": "x"`, `AWS_SECRET_ACCESS_KEY=x`.
  /(?<=[\w-]*(?:token|secret|password|passwd|passphrase|credential|access[_-]?key|secret[_-]?key|private[_-]?key|client-key-data|sealed)[\w-]*["']?\s*[:=]\s*["']?)(?!\[secret\])[^\s"',}]{4,}/gi,
  // User and password of a URL.
  /(?<=\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/gi,
];

/** A redactor that knows the patterns and no value yet. */
export function createRedactor(): Redactor {
  const known = new Set<string>();
  return {
    know(secret) {
      const value = secret.reveal();
      if (value.length < MIN_LENGTH) return;
      known.add(value);
      known.add(encodeBase64(new TextEncoder().encode(value)));
    },
    redact(text) {
      let clean = text;
      for (const value of [...known].sort((a, b) => b.length - a.length)) {
        clean = clean.replaceAll(value, REDACTED);
      }
      for (const pattern of PATTERNS) clean = clean.replace(pattern, REDACTED);
      return clean;
    },
  };
}
