import { createHash } from "node:crypto";
import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import type { Disk, DiskError, FileStat, Inspected } from "../../core/ports/disk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parentOf } from "../canonical_path.ts";
import { diskError, isAbsent, isPresent, TooLarge } from "./disk_error.ts";
import { createRoot } from "./root.ts";

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;
const READ_CHUNK = 16 * 1024;
const HASH_CHUNK = 1024 * 1024;

/**
 * The disks of this machine. `root` (`--root DIR`) is put before every path. Errors of the system come
 * back as {@link DiskError}; nothing here throws.
 */
export function createNodeDisk(options: { readonly root?: string } = {}): Disk {
  const at = createRoot(options.root);

  /** Runs `work` on the real path and turns what it throws into an error value. */
  async function attempt<T>(
    action: string,
    path: string,
    work: (real: string) => Promise<T>,
  ): Promise<Result<T, DiskError>> {
    try {
      return ok(await work(at(path)));
    } catch (cause) {
      return fail(diskError(action, path, cause));
    }
  }

  return {
    read: (path, maxBytes = DEFAULT_MAX_BYTES) =>
      attempt("read", path, (real) => orNull(readUpTo(real, maxBytes))),
    write: (path, bytes, mode) => attempt("write", path, (real) => writeFile(real, bytes, mode)),
    append: (path, bytes, mode) =>
      attempt("append to", path, (real) => appendFile(real, bytes, mode)),
    rename: (from, to) => attempt(`rename ${from} to`, to, (real) => rename(at(from), real)),
    syncDirectory: (path) => attempt("sync the folder", path, syncDirectory),
    makeDirectory: (path, mode) =>
      attempt("make the folder", path, (real) => makeDirectory(real, mode)),
    remove: (path) =>
      attempt("remove", path, (real) => {
        if (real === at("/")) throw new RangeError("that is the root of everything");
        return remove(real);
      }),
    list: (path) =>
      attempt("list", path, (real) => orNull(fs.readdir(real).then((names) => names.sort()))),
    stat: (path) => attempt("look at", path, (real) => orNull(stat(real))),
    inspect: (path) => attempt("look at", path, (real) => orNull(inspect(real))),
    restrict: (path, mode) => attempt("set the mode of", path, (real) => restrict(real, mode)),
    sha256: (path) => attempt("hash", path, (real) => orNull(sha256(real))),
    freeBytes: (path) =>
      attempt("ask for the free room at", path, async (real) => {
        const { bavail, bsize } = await fs.statfs(real);
        return bavail * bsize;
      }),
  };
}

async function orNull<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (cause) {
    if (isAbsent(cause)) return null;
    throw cause;
  }
}

async function using<T>(
  opening: Promise<fs.FileHandle>,
  work: (file: fs.FileHandle) => Promise<T>,
): Promise<T> {
  const file = await opening;
  try {
    return await work(file);
  } finally {
    await file.close();
  }
}

/**
 * Two calls of the runtime for a usual file: opening, reading and closing it one by one costs three times
 * their CPU time, and a cycle reads a handful. The size in the stat counts for nothing but the limit: it
 * is 0 for files of /proc.
 */
async function readUpTo(path: string, maxBytes: number): Promise<Uint8Array> {
  const { isFile, size } = await Deno.stat(path);
  if (!isFile) return await readPieces(path, maxBytes);
  const bytes = size > maxBytes ? null : await Deno.readFile(path);
  if (bytes === null || bytes.length > maxBytes) throw new TooLarge(maxBytes);
  return bytes;
}

/** What is no usual file may never end. */
function readPieces(path: string, maxBytes: number): Promise<Uint8Array> {
  return using(fs.open(path, "r"), async (file) => {
    const chunk = new Uint8Array(READ_CHUNK);
    const chunks: Uint8Array[] = [];
    let total = 0;
    while (true) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) break;
      total += bytesRead;
      if (total > maxBytes) throw new TooLarge(maxBytes);
      chunks.push(chunk.slice(0, bytesRead));
    }
    const all = new Uint8Array(total);
    let offset = 0;
    for (const chunk of chunks) {
      all.set(chunk, offset);
      offset += chunk.length;
    }
    return all;
  });
}

function writeFile(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  return using(fs.open(path, "w", mode), async (file) => {
    const regular = (await file.stat()).isFile();
    try {
      // The umask may have narrowed the mode, and a file that was there may have had a wider one.
      if (regular) await file.chmod(mode);
      await writeAll(file, bytes);
      if (regular) await file.sync();
    } catch (cause) {
      if (regular) await fs.unlink(path).catch(() => {});
      throw cause;
    }
  });
}

async function appendFile(path: string, bytes: Uint8Array, mode: number): Promise<void> {
  await using(openToAppend(path, mode), async (file) => {
    const before = await file.stat();
    try {
      await writeAll(file, bytes);
    } catch (cause) {
      if (before.isFile()) await file.truncate(before.size).catch(() => {});
      throw cause;
    }
  });
}

async function openToAppend(path: string, mode: number): Promise<fs.FileHandle> {
  try {
    const file = await fs.open(path, "ax", mode);
    await file.chmod(mode);
    return file;
  } catch (cause) {
    if (!isPresent(cause)) throw cause;
    return await fs.open(path, "a", mode);
  }
}

async function writeAll(file: fs.FileHandle, bytes: Uint8Array): Promise<void> {
  let offset = 0;
  while (offset < bytes.length) {
    offset += (await file.write(bytes, offset, bytes.length - offset, null)).bytesWritten;
  }
}

/**
 * On a FAT file system, which every ESP is, a renamed file has its size and its place in the new name only
 * once it is synced again: after a power cut it would be empty, whatever was synced before and however
 * often its folder is.
 */
async function rename(from: string, to: string): Promise<void> {
  await fs.rename(from, to);
  await using(fs.open(to, "r"), (file) => file.sync());
}

function syncDirectory(path: string): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  return using(fs.open(path, flags), (folder) => folder.sync());
}

async function makeDirectory(path: string, mode: number): Promise<void> {
  try {
    await fs.mkdir(path, { mode });
  } catch (cause) {
    // One that is there is right even where the program may not make it: /etc/systemd/system.
    const there = await fs.stat(path).catch(() => null);
    if (there?.isDirectory()) return;
    if (isPresent(cause)) {
      throw new Error("something that is no folder has that name", { cause });
    }
    if (!isAbsent(cause) || parentOf(path) === path) throw cause;
    await makeDirectory(parentOf(path), mode);
    await fs.mkdir(path, { mode });
  }
  await fs.chmod(path, mode);
  // A folder that a crash takes away takes all documents in it along. Where the parent is not the
  // agent's to open, its file system has to do.
  await syncDirectory(parentOf(path)).catch(() => {});
}

async function remove(path: string): Promise<boolean> {
  if (await orNull(fs.lstat(path)) === null) return false;
  await fs.rm(path, { recursive: true });
  return true;
}

async function stat(path: string): Promise<FileStat> {
  const found = await fs.stat(path);
  return {
    kind: found.isFile() ? "file" : found.isDirectory() ? "directory" : "other",
    size: found.size,
    mode: found.mode & 0o7777,
    modifiedAt: Math.floor(found.mtimeMs),
  };
}

async function inspect(path: string): Promise<Inspected> {
  const found = await fs.lstat(path);
  return {
    kind: found.isFile()
      ? "file"
      : found.isDirectory()
      ? "directory"
      : found.isSymbolicLink()
      ? "link"
      : "other",
    mode: found.mode & 0o7777,
    isOwn: found.uid === Deno.uid(),
  };
}

/** By the opened file, so that nothing can be put in its place between the look and the change. */
function restrict(path: string, mode: number): Promise<void> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  return using(fs.open(path, flags), async (file) => {
    const { uid, gid } = await file.stat();
    const own = Deno.uid();
    if (own !== null && uid !== own) await file.chown(own, gid);
    await file.chmod(mode);
  });
}

function sha256(path: string): Promise<string> {
  return using(fs.open(path, "r"), async (file) => {
    const hash = createHash("sha256");
    const chunk = new Uint8Array(HASH_CHUNK);
    while (true) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(chunk.subarray(0, bytesRead));
    }
  });
}
