/** What differs between the program that is shipped and the one for labs. */
export interface Entry {
  /** Ed25519 public keys that release manifests are verified with. None: every manifest is refused. */
  readonly releaseKeys: readonly Uint8Array[];
  /** The lab's: a portal on loopback only, and `run` where no command is named. */
  readonly lab: boolean;
}
