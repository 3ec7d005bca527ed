import type { Result } from "../result.ts";

/** A file of a release as its manifest describes it (protocol §6). */
export interface ArtifactFile {
  readonly url: string;
  /** Lower-case hex, of the decoded file. */
  readonly sha256: string;
  /** Bytes of the decoded file. */
  readonly size: number;
  /** How it travels; absent: as it is. */
  readonly encoding?: "gzip" | undefined;
  /** Bytes that travel. */
  readonly encoded_size?: number | undefined;
}

/**
 * Why an artifact was not had. `cut`: no connection, silence, a server that cannot now, or an end in the
 * middle: it may go on later. `wrong_hash`, `wrong_size`: it came whole and is not what the manifest
 * says; so will be the next copy. `refused`: any other answer than the file. `disk_full`: no room.
 * `disk`: any other trouble with the disk. `stopped`: the caller's signal.
 */
export interface ArtifactError {
  readonly code:
    | "cut"
    | "wrong_hash"
    | "wrong_size"
    | "refused"
    | "disk_full"
    | "disk"
    | "stopped";
  /** For people: the origin, never a query, and what is wrong. */
  readonly message: string;
  /** With `cut`: how long the server asks to be left alone, milliseconds. */
  readonly waitMs?: number;
}

/** How a download is limited, and what it tells on the way. */
export interface ArtifactOptions {
  /** Mode of the file from its creation on. */
  readonly mode: number;
  /** Ends it early (`stopped`). */
  readonly signal?: AbortSignal;
  /**
   * What a cut or a stop leaves at `path` stays there, and an earlier call's is gone on from, in a later
   * process too. Files that travel compressed begin anew.
   */
  readonly resume?: boolean;
  /** Bytes that have travelled so far, and in all as far as the manifest says it. */
  onProgress?(done: number, total: number): void;
}

/**
 * Downloads of a release's files (protocol §6). Nothing of the portal's goes with the request but
 * `User-Agent` (protocol §1).
 */
export interface Artifacts {
  /**
   * Streams the file to `path`, decoded on the way, and syncs it. Its folder must exist. What travels,
   * what is written and its SHA-256 are held against the manifest's; a download that is cut goes on
   * where it was, as long as each connection brings something new. `path` is removed unless all of it is
   * right, or the rest may be had with `resume`.
   */
  fetch(
    artifact: ArtifactFile,
    path: string,
    options: ArtifactOptions,
  ): Promise<Result<void, ArtifactError>>;
}
