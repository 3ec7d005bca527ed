import type { Arch } from "../protocol/enroll.ts";

/** What the running program is. */
export interface ProgramInfo {
  readonly version: string;
  readonly arch: Arch;
  /** RFC 3339. */
  readonly startedAt: string;
  /** Ed25519 public keys that release manifests are verified with; none: every manifest is refused. */
  readonly releaseKeys: readonly Uint8Array[];
  /** Why it must not replace itself, for people; absent where it may. */
  readonly irreplaceable?: string;
  /** Lower-case hex SHA-256 of the program's file. */
  sha256(): Promise<string>;
}
