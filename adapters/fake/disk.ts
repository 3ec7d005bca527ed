import { createHash } from "node:crypto";
import type { Disk, DiskError, FileStat } from "../../core/ports/disk.ts";
import { ok, type Result } from "../../core/result.ts";
import { canonicalPath } from "../canonical_path.ts";
import { createFaults, type DiskFaults, type DiskOperation } from "./disk_faults.ts";
import {
  appendFile,
  makeFolder,
  putFile,
  removeFile,
  renameFile,
  setMode,
  syncNames,
  writeFile,
  writeHalf,
} from "./disk_writes.ts";
import { filesBelow, find, loseUnsynced, type TreeNode } from "./file_tree.ts";
import { createMedium, type DiskWrite, dropName, failed, folderAt, freeBytes } from "./medium.ts";

const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;

const READS: ReadonlySet<DiskOperation> = new Set([
  "read",
  "list",
  "stat",
  "inspect",
  "sha256",
  "freeBytes",
]);

/** A disk in memory that knows what a power cut takes, and breaks on demand. */
export interface FakeDisk extends Disk, DiskFaults {
  /**
   * Takes the power and starts the machine again: bytes that were not synced are gone, and names that
   * were not synced are `lost` (the default) or `kept`. A file system may do either.
   */
  crash(names?: "lost" | "kept"): void;
  /** Mounts it read-only, or writable again. */
  setReadOnly(readOnly: boolean): void;
  /** Bytes that fit on it in all (10 GiB at first). */
  setCapacity(bytes: number): void;
  /** Empties a file, as some file systems do after a power cut. */
  truncate(path: string): void;
  /**
   * The writes since the last `forgetWrites`, in order, failed ones included. Making a folder that is
   * there and removing what is not there write nothing.
   */
  writes(): readonly DiskWrite[];
  forgetWrites(): void;
  /** A file's content as text, or null. */
  text(path: string): string | null;
  /** The content, as text, that a power cut leaves of a file in any case; or null. */
  lastingText(path: string): string | null;
  /** Lays out a file and its folders (0755), all synced. Mode 0600 unless told. */
  put(path: string, content: string | Uint8Array, mode?: number): void;
  /** Paths of all files, sorted. */
  paths(): readonly string[];
}

/** A disk in memory with only `/` on it. `now` dates the changes (milliseconds; 0 unless told). */
export function createFakeDisk(options: { readonly now?: () => number } = {}): FakeDisk {
  const medium = createMedium(options.now ?? (() => 0));
  const faults = createFaults();
  /** What was looked up since the last change: an idle agent reads the same few files again and again. */
  const found = new Map<string, TreeNode | null>();
  let free: number | null = null;
  const copyOf = openCopier();

  function changes(): void {
    found.clear();
    free = null;
  }

  function nodeAt(path: string): TreeNode | null {
    let node = found.get(path);
    if (node === undefined) found.set(path, node = find(medium.root, path));
    return node;
  }

  /** One call of the port: counted, broken where a test wants it, done. `half`: cut in its middle. */
  // deno-lint-ignore require-await
  async function call<T>(
    operation: DiskOperation,
    path: string,
    work: (at: string) => Result<T, DiskError>,
    half: (at: string) => void = () => {},
  ): Promise<Result<T, DiskError>> {
    const at = found.has(path) ? path : canonicalPath(path);
    const code = faults.enter(operation, path, () => {
      changes();
      if (at !== null) half(at);
    });
    if (at === null) return failed(operation, path, "io", "the path is not canonical");
    if (!READS.has(operation)) changes();
    const result = code === null ? work(at) : broken(operation, at, code);
    faults.leave(operation, path);
    return result;
  }

  function broken(operation: DiskOperation, path: string, code: DiskError["code"]) {
    if (!READS.has(operation)) medium.writes.push({ operation, path });
    // A real write that breaks off takes its half file away.
    if (operation === "write" && (code === "full" || code === "io")) dropName(medium, path);
    return failed(operation, path, code, "the test wants it to fail");
  }

  /** What `take` makes of a file's bytes, or null where there is no file. */
  function fromFile<T>(
    operation: DiskOperation,
    path: string,
    take: (bytes: Uint8Array) => Result<T, DiskError>,
  ): Result<T | null, DiskError> {
    const node = nodeAt(path);
    if (node === null) return ok(null);
    return node.kind === "file"
      ? take(node.bytes)
      : failed(operation, path, "io", "it is a folder");
  }

  const disk: Disk = {
    read: (path, maxBytes = DEFAULT_MAX_BYTES) =>
      call(
        "read",
        path,
        (at) =>
          fromFile("read", at, (bytes) =>
            bytes.length > maxBytes
              ? failed("read", at, "too_large", `more than ${maxBytes} bytes`)
              : ok(copyOf(bytes))),
      ),
    write: (path, bytes, mode) =>
      call(
        "write",
        path,
        (at) => writeFile(medium, at, bytes, mode),
        (at) => writeHalf(medium, at, bytes, mode),
      ),
    append: (path, bytes, mode) =>
      call("append", path, (at) => appendFile(medium, at, bytes, mode), (at) => {
        appendFile(medium, at, bytes.slice(0, bytes.length / 2), mode);
      }),
    rename: (from, to) =>
      call("rename", to, (at) => renameFile(medium, canonicalPath(from) ?? "/", at)),
    syncDirectory: (path) => call("syncDirectory", path, (at) => syncNames(medium, at)),
    makeDirectory: (path, mode) =>
      call("makeDirectory", path, (at) => makeFolder(medium, at, mode)),
    remove: (path) => call("remove", path, (at) => removeFile(medium, at)),
    list: (path) =>
      call("list", path, (at) => {
        const folder = folderAt(medium, at);
        return ok(folder === null ? null : [...folder.entries.keys()].sort());
      }),
    stat: (path) => call("stat", path, (at) => ok(statOf(nodeAt(at)))),
    inspect: (path) =>
      call("inspect", path, (at) => {
        const node = nodeAt(at);
        return ok(node === null ? null : { kind: node.kind, mode: node.mode, isOwn: true });
      }),
    restrict: (path, mode) => call("restrict", path, (at) => setMode(medium, at, mode)),
    sha256: (path) =>
      call(
        "sha256",
        path,
        (at) =>
          fromFile("sha256", at, (bytes) => ok(createHash("sha256").update(bytes).digest("hex"))),
      ),
    freeBytes: (path) =>
      call(
        "freeBytes",
        path,
        (at) =>
          nodeAt(at) === null
            ? failed("freeBytes", at, "missing", "nothing is there")
            : ok(free ??= freeBytes(medium)),
      ),
  };

  return {
    ...disk,
    ...faults,
    crash(names = "lost") {
      changes();
      loseUnsynced(medium.root, names);
      faults.restart();
    },
    setReadOnly(readOnly) {
      medium.readOnly = readOnly;
    },
    setCapacity(bytes) {
      changes();
      medium.capacity = bytes;
    },
    truncate(path) {
      const node = nodeAt(path);
      if (node?.kind !== "file") throw new Error(`there is no file ${path} to truncate`);
      node.bytes = node.synced = new Uint8Array(0);
      changes();
    },
    writes: () => [...medium.writes],
    forgetWrites() {
      medium.writes = [];
    },
    text(path) {
      const node = nodeAt(path);
      return node?.kind === "file" ? new TextDecoder().decode(node.bytes) : null;
    },
    lastingText(path) {
      const node = find(medium.root, path, "synced");
      return node?.kind === "file" ? new TextDecoder().decode(node.synced) : null;
    },
    put(path, content, mode = 0o600) {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      changes();
      putFile(medium, path, bytes, mode);
    },
    paths: () => filesBelow(medium.root).map(([path]) => path),
  };
}

/**
 * Room that small copies are cut from: to ask for room of its own takes ten times as long as such a copy.
 * Every disk of a fleet has such a piece, so it is no large one.
 */
const PIECE_BYTES = 4_096;

/** Copies bytes. */
function openCopier(): (bytes: Uint8Array) => Uint8Array {
  let piece = new ArrayBuffer(0);
  let used = 0;
  return (bytes) => {
    if (bytes.length > PIECE_BYTES / 4) return bytes.slice();
    if (used + bytes.length > piece.byteLength) {
      piece = new ArrayBuffer(PIECE_BYTES);
      used = 0;
    }
    const copy = new Uint8Array(piece, used, bytes.length);
    used += bytes.length;
    copy.set(bytes);
    return copy;
  };
}

function statOf(node: TreeNode | null): FileStat | null {
  if (node === null) return null;
  const size = node.kind === "file" ? node.bytes.length : 0;
  return { kind: node.kind, size, mode: node.mode, modifiedAt: node.modifiedAt };
}
