import type { Clock } from "../ports/clock.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { Result } from "../result.ts";

/** A disk that remembers which writes did not go through, for the condition `disk_full`. */
export interface WatchedDisk {
  readonly disk: Disk;
  /** The oldest write still failing for want of room or because nothing can be written; else null. */
  trouble(): DiskError | null;
}

/** What is still owed is tried again sooner than this; what is not, is no trouble any more. Milliseconds. */
const FORGET_MS = 120_000;

/**
 * Wraps a disk. A path whose write failed with `full` or `read_only` counts as trouble until a later
 * write to it succeeds, or until nobody has tried it again for two minutes.
 */
export function watchDisk(disk: Disk, clock: Pick<Clock, "monotonic">): WatchedDisk {
  const failing = new Map<string, { readonly error: DiskError; readonly at: number }>();

  async function watch<T>(
    path: string,
    call: Promise<Result<T, DiskError>>,
  ): Promise<Result<T, DiskError>> {
    const result = await call;
    if (result.ok) failing.delete(path);
    else if (result.error.code === "full" || result.error.code === "read_only") {
      // The first failure's message stays: a condition must not change for nothing.
      const error = failing.get(path)?.error ?? result.error;
      failing.set(path, { error, at: clock.monotonic() });
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
    trouble() {
      for (const [path, { error, at }] of failing) {
        if (clock.monotonic() - at < FORGET_MS) return error;
        failing.delete(path);
      }
      return null;
    },
  };
}
