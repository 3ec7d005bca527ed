import type { Result } from "../result.ts";
import type { ProgramError } from "./systemd.ts";

/**
 * How a run of k3s ended. It proves nothing (k3s facts C and D): a failed save can exit with 0, and a
 * reset that was ended by SIGTERM does.
 */
export interface K3sExit {
  /** Null where a signal ended it. */
  readonly code: number | null;
  readonly signal: string | null;
  /** The end of what it printed, stdout and stderr together: at most 64 KiB. May hold secrets. */
  readonly output: string;
}

/** Takes the lines that a program prints, as they come. They may hold secrets. */
export type OnLine = (line: string) => void;

/** What a database is made anew from. Absolute, canonical paths. */
export interface ClusterReset {
  /** A plain, unzipped snapshot. */
  readonly snapshot: string;
  /** A file of mode 0600 that holds the cluster's token, where it is not the configured one. */
  readonly tokenFile?: string;
}

/** The k3s program of this node. Fixed argument lists, no shell; every call has a time limit. */
export interface K3s {
  /** Its version, for example `v1.36.3+k3s1` (first line of `k3s --version`). */
  version(): Promise<Result<string, ProgramError>>;
  /**
   * `k3s etcd-snapshot save --name <name>`, within 9 minutes. Asks the running server, which goes on with
   * the work when this ends.
   */
  saveSnapshot(name: string, onLine?: OnLine): Promise<Result<K3sExit, ProgramError>>;
  /**
   * `k3s server --cluster-reset --cluster-reset-restore-path=<snapshot> --etcd-s3=false`, within an hour.
   * DESTRUCTIVE: moves the database aside and makes a new one. The caller sees to it that no k3s runs.
   * Nothing but that limit ends it early: half a restore is worse than a late one.
   */
  resetCluster(reset: ClusterReset, onLine?: OnLine): Promise<Result<K3sExit, ProgramError>>;
}
