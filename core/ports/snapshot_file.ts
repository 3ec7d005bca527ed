import type { Result } from "../result.ts";
import type { DiskError } from "./disk.ts";

/** What a look at a snapshot found out about it. */
export interface SnapshotFacts {
  /** `plain`: etcd's own format, as a restore takes it; `zip`: one such file, compressed by k3s. */
  readonly kind: "plain" | "zip";
  /** Bytes of the file. */
  readonly size: number;
  /** Bytes of the plain snapshot; `size` where it is one. */
  readonly plainSize: number;
  /**
   * First 12 hex digits of SHA-256 of every token that k3s kept its certificates under in this database,
   * older ones included. Empty where none was found.
   */
  readonly tokenHashes: readonly string[];
  /** The versions of k3s that the database's Nodes told, such as `v1.36.3+k3s1`. */
  readonly k3sVersions: readonly string[];
  /** Those of the asked texts that the database holds. */
  readonly texts: readonly string[];
}

/**
 * Whether a snapshot can be restored: its format, and for a plain one the SHA-256 that etcd puts at the
 * end; for a zip its one entry, sizes and CRC-32, and the same of what is in it.
 */
export type Inspection =
  | { readonly whole: true; readonly facts: SnapshotFacts }
  | {
    readonly whole: false;
    /** A part of a sentence, for people: "it ends too early: ...". */
    readonly why: string;
    /** It does not even begin as a file of etcd's. */
    readonly isOther?: true;
  };

/** Why a call failed. `stopped`: the caller's signal. `missing`: there is no such file. */
export type SnapshotFileError = DiskError | { readonly code: "stopped"; readonly message: string };

/** How a call is limited, and what it looks for on the way. */
export interface SnapshotLook {
  /** Texts whose presence in the database is to be told, ASCII, each of 8 to 256 characters. */
  readonly texts?: readonly string[];
  /** More bytes than these are no snapshot: `whole: false`. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
  /** Bytes so far, and in all as far as known. */
  onProgress?(done: number, total: number | null): void;
}

/** A snapshot that arrives piece by piece. */
export interface SnapshotReceiver {
  /** Writes the next bytes. */
  write(bytes: Uint8Array): Promise<Result<void, DiskError>>;
  /** Syncs and closes the file. Null for a zip: `unpack` looks at it. */
  finish(): Promise<Result<Inspection | null, DiskError>>;
  /** Closes and removes the file. */
  discard(): Promise<void>;
}

/**
 * Files of etcd snapshots. Streams: memory stays flat whatever their size. Paths are absolute and
 * canonical, and an adapter may put them below a root of its own.
 */
export interface SnapshotFile {
  /** Looks at a whole file. */
  inspect(path: string, look: SnapshotLook): Promise<Result<Inspection, SnapshotFileError>>;
  /**
   * Writes what is in the zip `from` to `to` (0600, synced, replaced), which is inspected on the way: the
   * facts are those of `to`. One entry; its name is not looked at. `to` is removed unless it is whole.
   */
  unpack(
    from: string,
    to: string,
    look: SnapshotLook,
  ): Promise<Result<Inspection, SnapshotFileError>>;
  /** Begins to receive a file at `path` (0600, replaced), which is inspected on the way. */
  receive(
    path: string,
    look: Pick<SnapshotLook, "texts" | "maxBytes">,
  ): Promise<Result<SnapshotReceiver, DiskError>>;
}
