import type { Disk, DiskError } from "../ports/disk.ts";
import type { Result } from "../result.ts";

/** A disk that remembers which writes did not go through, for the condition `disk_full`. */
export interface WatchedDisk {
  readonly disk: Disk;
  /** The oldest write still failing for want of room or because nothing can be written; else null. */
  trouble(): DiskError | null;
}

/**
 * Wraps a disk. A path whose write failed with `full` or `read_only` counts as trouble until a later
 * write to it succeeds; the agent tries all its writes again in later cycles.
 */
export function watchDisk(disk: Disk): WatchedDisk {
  const failing = new Map<string, DiskError>();

  async function watch<T>(
    path: string,
    call: Promise<Result<T, DiskError>>,
  ): Promise<Result<T, DiskError>> {
    const result = await call;
    if (result.ok) failing.delete(path);
    else if (result.error.code === "full" || result.error.code === "read_only") {
      if (!failing.has(path)) failing.set(path, result.error);
    }
    return result;
  }

  return {
    disk: {
      ...disk,
      write: (path, bytes, mode) => watch(path, disk.write(path, bytes, mode)),
      append: (path, bytes, mode) => watch(path, disk.append(path, bytes, mode)),
      rename: (from, to) => watch(to, disk.rename(from, to)),
      syncDirectory: (path) => watch(path, disk.syncDirectory(path)),
      makeDirectory: (path, mode) => watch(path, disk.makeDirectory(path, mode)),
      remove: (path) => watch(path, disk.remove(path)),
    },
    trouble: () => failing.values().next().value ?? null,
  };
}
