import type { Result } from "../result.ts";

/**
 * Why a disk call failed.
 * `full`: no room or quota. `read_only`: the file system takes no writes. `denied`: rights or
 * permissions. `too_large`: more bytes than the caller allows. `missing`: a parent folder or the
 * source of a rename does not exist. `io`: anything else.
 */
export interface DiskError {
  readonly code: "full" | "read_only" | "denied" | "too_large" | "missing" | "io";
  /** The path the call was about, as the caller named it. */
  readonly path: string;
  /** For people: what was tried and what the system said. */
  readonly message: string;
}

/**
 * The node's file systems. Paths are absolute and canonical (`/etc/...`); an adapter may put them all
 * below a root of its own. Calls from one agent never overlap on the same path.
 */
export interface Disk {
  /** The whole file, or null where there is none. Reads at most `maxBytes` (default 16 MiB). */
  read(path: string, maxBytes?: number): Promise<Result<Uint8Array | null, DiskError>>;
  /**
   * Writes a file and syncs its bytes; replaces what is there. The file has `mode` from its creation
   * on, whatever the umask. Not atomic: {@link ../state/durable.ts} builds the durable write on it.
   */
  write(path: string, bytes: Uint8Array, mode: number): Promise<Result<void, DiskError>>;
  /** Appends to a file, created with `mode` where there is none. Not synced. */
  append(path: string, bytes: Uint8Array, mode: number): Promise<Result<void, DiskError>>;
  /**
   * Renames within one file system; replaces the target. What was synced under the old name is under the
   * new one, as soon as that lasts.
   */
  rename(from: string, to: string): Promise<Result<void, DiskError>>;
  /** Syncs a folder, which makes the renames, creations and removals in it last. */
  syncDirectory(path: string): Promise<Result<void, DiskError>>;
  /** Makes a folder and its missing parents; those made get `mode`. One that exists stays as it is. */
  makeDirectory(path: string, mode: number): Promise<Result<void, DiskError>>;
  /** Removes a file, or a folder with all below it. True where something was there. Follows no link. */
  remove(path: string): Promise<Result<boolean, DiskError>>;
  /** Names in a folder, sorted; null where there is no such folder. */
  list(path: string): Promise<Result<readonly string[] | null, DiskError>>;
  /** What is at `path` (links followed), or null. `modifiedAt`: milliseconds since the epoch. */
  stat(path: string): Promise<Result<FileStat | null, DiskError>>;
  /** What is at `path` itself (links not followed), or null. */
  inspect(path: string): Promise<Result<Inspected | null, DiskError>>;
  /**
   * Gives a file or folder `mode`, and to the user that the program runs as. Follows no link: one at `path`
   * is an error.
   */
  restrict(path: string, mode: number): Promise<Result<void, DiskError>>;
  /** Lower-case hex SHA-256 of a file's bytes, streamed; null where there is no file. */
  sha256(path: string): Promise<Result<string | null, DiskError>>;
  /** Bytes that root can still write on the file system of `path`. */
  freeBytes(path: string): Promise<Result<number, DiskError>>;
}

/** Facts about a file or folder. */
export interface FileStat {
  readonly kind: "file" | "directory" | "other";
  /** Bytes. */
  readonly size: number;
  /** Permission bits, for example 0o600. */
  readonly mode: number;
  readonly modifiedAt: number;
}

/** Who may use a file or folder, as {@link Disk.inspect} finds it. */
export interface Inspected {
  readonly kind: "file" | "directory" | "link" | "other";
  /** Permission bits, for example 0o600. */
  readonly mode: number;
  /** It belongs to the user that the program runs as. */
  readonly isOwn: boolean;
}
