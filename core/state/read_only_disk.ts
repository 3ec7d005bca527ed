import type { Disk, DiskError } from "../ports/disk.ts";
import { fail, type Result } from "../result.ts";

/**
 * A disk that reads and refuses every write: for commands that look at the files of a running agent and
 * must not even tidy up behind its back.
 */
export function readOnlyDisk(disk: Disk): Disk {
  const refuse = (path: string): Promise<Result<never, DiskError>> =>
    Promise.resolve(fail({ code: "read_only", path, message: `${path}: opened for reading only` }));
  return {
    ...disk,
    write: refuse,
    append: refuse,
    rename: (_from, to) => refuse(to),
    syncDirectory: refuse,
    makeDirectory: refuse,
    remove: refuse,
    restrict: refuse,
  };
}
