import type { Secret } from "../../core/secret.ts";

/** An enrollment token and what it is for. */
export interface TokenEntry {
  readonly token: Secret;
  readonly clusterId: string;
  readonly nodeName: string;
  readonly serverId: string;
  /** It has expired: to see how that is answered. */
  readonly expired: boolean;
  /** The boot image that this node must have booted, lower-case hex; null: any. */
  readonly imageSha256: string | null;
  /** SHA-256 of the k3s token's text that config.yaml pins on this node, lower-case hex; null: none. */
  readonly k3sTokenSha256: string | null;
}
