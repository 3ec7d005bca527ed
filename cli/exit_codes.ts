/** Every exit code of the program; the README has the same table. */
export const EXIT = {
  /** Done, or ended by a signal as asked. */
  OK: 0,
  /** It could not be done; stderr says what and why. */
  FAILED: 1,
  /** Unknown command or flag; stderr has the usage. */
  USAGE: 2,
  /** A limit that `simulate` was to hold the portal to did not hold. */
  LIMITS: 3,
  /** An installation is under way: this start makes way for it (EX_UNAVAILABLE). */
  INSTALLING: 69,
  /** Another pbx-agent runs on this state directory (EX_TEMPFAIL of sysexits). */
  LOCKED: 75,
  /** The configuration, or a file that a newer version wrote, does not let it start (EX_CONFIG). */
  CONFIG: 78,
} as const;

/** One of them. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
