import type { Arch } from "../protocol/enroll.ts";

/** What the running program is. */
export interface ProgramInfo {
  readonly version: string;
  readonly arch: Arch;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Ed25519 public keys that release manifests are verified with; none: every manifest is refused. */
  readonly releaseKeys: readonly Uint8Array[];
  /** Lower-case hex SHA-256 of the program's file. */
  sha256(): Promise<string>;
}
