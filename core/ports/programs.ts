import type { Result } from "../result.ts";
import type { DiskError } from "./disk.ts";
import type { ProgramError } from "./systemd.ts";

/** The agent's own programs as files: the one that runs, the one before it, the one that is to come. */
export interface Programs {
  /**
   * What `<path> version` prints to stdout; an exit other than 0 within 30 s is an error. Its `program` is
   * that path where the program is to blame, and another where it could not be run at all.
   */
  version(path: string): Promise<Result<string, ProgramError>>;
  /**
   * Makes `to` another name of the file at `from`, in place of what was there, durably. Takes no room for
   * a second copy, so that a full disk cannot stand in the way; a program is only ever replaced as a
   * whole, by a rename, so the names never change each other.
   */
  link(from: string, to: string): Promise<Result<void, DiskError>>;
}
