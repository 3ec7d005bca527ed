import type { DiskError } from "../../core/ports/disk.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { parentOf } from "../canonical_path.ts";
import type { DiskOperation } from "./disk_faults.ts";
import { find, type FolderNode, folderNode, type TreeNode } from "./file_tree.ts";

const DEFAULT_CAPACITY = 10 * 1024 ** 3;

/** A call that changed something, or tried to. A rename stands under its target. */
export interface DiskWrite {
  readonly operation: DiskOperation;
  readonly path: string;
}

/** What a fake disk keeps its files on. */
export interface Medium {
  readonly root: FolderNode;
  readonly now: () => number;
  readOnly: boolean;
  /** Bytes that fit in all. */
  capacity: number;
  /** Changes made or tried, in order. */
  writes: DiskWrite[];
}

/** An empty, writable medium of 10 GiB. `now`: milliseconds since the epoch. */
export function createMedium(now: () => number): Medium {
  const root = folderNode(0o755, now());
  return { root, now, readOnly: false, capacity: DEFAULT_CAPACITY, writes: [] };
}

/** Notes a change that is about to happen; an error where the medium takes none. */
export function noteChange(
  medium: Medium,
  operation: DiskOperation,
  path: string,
): Result<void, DiskError> {
  medium.writes.push({ operation, path });
  if (medium.readOnly) return failed(operation, path, "read_only", "mounted read-only");
  return ok(undefined);
}

/** Bytes that still fit. */
export function freeBytes(medium: Medium): number {
  return Math.max(0, medium.capacity - bytesBelow(medium.root));
}

function bytesBelow(folder: FolderNode): number {
  let sum = 0;
  for (const node of folder.entries.values()) {
    sum += node.kind === "file" ? node.bytes.length : bytesBelow(node);
  }
  return sum;
}

/** The folder at a path, or null. */
export function folderAt(medium: Medium, path: string): FolderNode | null {
  const node = find(medium.root, path);
  return node?.kind === "directory" ? node : null;
}

/** Gives a node a name; the folder of the name exists. */
export function enterName(medium: Medium, path: string, node: TreeNode): void {
  folderAt(medium, parentOf(path))?.entries.set(nameOf(path), node);
}

/** Takes a name away, if it is there. */
export function dropName(medium: Medium, path: string): void {
  folderAt(medium, parentOf(path))?.entries.delete(nameOf(path));
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A failed call. */
export function failed(
  operation: DiskOperation,
  path: string,
  code: DiskError["code"],
  why: string,
): { readonly ok: false; readonly error: DiskError } {
  return fail({ code, path, message: `cannot ${operation} ${path}: ${why} (fake disk)` });
}
