import { encodeBase64 } from "../../core/protocol/base64.ts";
import { hashText, type Portal } from "./portal.ts";
import type { Token } from "./state.ts";

/** A new token in clear, and the name under which the portal knows it. */
export interface IssuedToken {
  reveal(): string;
  /** Lower-case hex SHA-256 of the token. */
  readonly hash: string;
}

/** Makes an enrollment token for a node. Only its hash is kept. */
export function issueToken(portal: Portal, purpose: Omit<Token, "used">): IssuedToken {
  const random = encodeBase64(portal.random.bytes(24)).replaceAll("+", "-").replaceAll("/", "_");
  const token = `pbx_${random}`;
  const hash = hashText(token);
  portal.state.tokens.set(hash, { ...purpose, used: null });
  portal.touch();
  return { reveal: () => token, hash };
}
