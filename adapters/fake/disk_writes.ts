import type { DiskError } from "../../core/ports/disk.ts";
import { ok, type Result } from "../../core/result.ts";
import { parentOf } from "../canonical_path.ts";
import { type FileNode, fileNode, find, folderNode, segmentsOf, syncFolder } from "./file_tree.ts";
import {
  dropName,
  enterName,
  failed,
  folderAt,
  freeBytes,
  type Medium,
  nameOf,
  noteChange,
} from "./medium.ts";

const NO_BYTES = new Uint8Array(0);

/** Writes and syncs a file's bytes, as `Disk.write`; its name is not synced. */
export function writeFile(
  medium: Medium,
  path: string,
  bytes: Uint8Array,
  mode: number,
): Result<void, DiskError> {
  const file = openFile(medium, "write", path, mode);
  if (!file.ok) return file;
  file.value.bytes = NO_BYTES;
  if (bytes.length > freeBytes(medium)) {
    dropName(medium, path);
    return failed("write", path, "full", "no space left");
  }
  file.value.mode = mode;
  file.value.bytes = file.value.synced = bytes.slice();
  return ok(undefined);
}

/** What a write that was cut in its middle leaves: half the bytes, none of them synced. */
export function writeHalf(medium: Medium, path: string, bytes: Uint8Array, mode: number): void {
  const file = openFile(medium, "write", path, mode);
  if (!file.ok) return;
  file.value.mode = mode;
  file.value.synced = NO_BYTES;
  file.value.bytes = bytes.slice(0, bytes.length / 2);
}

/** Appends without a sync, as `Disk.append`. */
export function appendFile(
  medium: Medium,
  path: string,
  bytes: Uint8Array,
  mode: number,
): Result<void, DiskError> {
  const file = openFile(medium, "append", path, mode);
  if (!file.ok) return file;
  if (bytes.length > freeBytes(medium)) return failed("append", path, "full", "no space left");
  const joined = new Uint8Array(file.value.bytes.length + bytes.length);
  joined.set(file.value.bytes);
  joined.set(bytes, file.value.bytes.length);
  file.value.bytes = joined;
  return ok(undefined);
}

/** Moves a name, as `Disk.rename`; neither folder is synced. */
export function renameFile(medium: Medium, from: string, to: string): Result<void, DiskError> {
  const allowed = noteChange(medium, "rename", to);
  if (!allowed.ok) return allowed;
  const node = find(medium.root, from);
  const source = folderAt(medium, parentOf(from));
  const target = folderAt(medium, parentOf(to));
  if (node === null || source === null || target === null) {
    return failed("rename", to, "missing", `${from} or the target's folder does not exist`);
  }
  const there = find(medium.root, to);
  const replaceable = from !== "/" && (there === null || there.kind === node.kind &&
      (there.kind === "file" || there.entries.size === 0));
  if (!replaceable || to.startsWith(`${from}/`)) {
    return failed("rename", to, "io", `${from} cannot take its place`);
  }
  source.entries.delete(nameOf(from));
  target.entries.set(nameOf(to), node);
  if (source !== target) {
    source.joined.add(target);
    target.joined.add(source);
  }
  return ok(undefined);
}

/** Makes a folder and its missing parents, synced, as `Disk.makeDirectory`. */
export function makeFolder(medium: Medium, path: string, mode: number): Result<void, DiskError> {
  let folder = medium.root;
  for (const segment of segmentsOf(path)) {
    let next = folder.entries.get(segment);
    if (next?.kind === "file") {
      return failed("makeDirectory", path, "io", `${segment} is a file`);
    }
    if (next === undefined) {
      const allowed = noteChange(medium, "makeDirectory", path);
      if (!allowed.ok) return allowed;
      next = folderNode(mode, medium.now());
      folder.entries.set(segment, next);
      syncFolder(folder);
    }
    folder = next;
  }
  return ok(undefined);
}

/** Takes a file or a folder away, as `Disk.remove`; its folder is not synced. */
export function removeFile(medium: Medium, path: string): Result<boolean, DiskError> {
  if (path === "/") return failed("remove", path, "io", "it is the root of everything");
  if (find(medium.root, path) === null) return ok(false);
  const allowed = noteChange(medium, "remove", path);
  if (!allowed.ok) return allowed;
  dropName(medium, path);
  return ok(true);
}

/** Changes who may use a file or a folder, as `Disk.restrict`. */
export function setMode(medium: Medium, path: string, mode: number): Result<void, DiskError> {
  const node = find(medium.root, path);
  if (node === null) return failed("restrict", path, "missing", "nothing is there");
  const allowed = noteChange(medium, "restrict", path);
  if (!allowed.ok) return allowed;
  node.mode = mode;
  return ok(undefined);
}

/** Syncs the names in a folder, as `Disk.syncDirectory`. */
export function syncNames(medium: Medium, path: string): Result<void, DiskError> {
  medium.writes.push({ operation: "syncDirectory", path });
  const folder = folderAt(medium, path);
  if (folder === null) return failed("syncDirectory", path, "missing", "there is no such folder");
  syncFolder(folder);
  return ok(undefined);
}

/** Lays out a file and its folders (0755), everything synced. */
export function putFile(medium: Medium, path: string, bytes: Uint8Array, mode: number): void {
  let folder = medium.root;
  for (const segment of segmentsOf(parentOf(path))) {
    const there = folder.entries.get(segment);
    const next = there?.kind === "directory" ? there : folderNode(0o755, medium.now());
    folder.entries.set(segment, next);
    folder.synced.set(segment, next);
    folder = next;
  }
  const file = fileNode(mode, medium.now());
  file.bytes = file.synced = bytes.slice();
  folder.entries.set(nameOf(path), file);
  folder.synced.set(nameOf(path), file);
}

/** The file to write to, entered where there is none; an error where it cannot be. */
function openFile(
  medium: Medium,
  operation: "write" | "append",
  path: string,
  mode: number,
): Result<FileNode, DiskError> {
  const allowed = noteChange(medium, operation, path);
  if (!allowed.ok) return allowed;
  if (folderAt(medium, parentOf(path)) === null) {
    return failed(operation, path, "missing", "the folder that should hold it does not exist");
  }
  const there = find(medium.root, path);
  if (there?.kind === "directory") return failed(operation, path, "io", "it is a folder");
  const file = there ?? fileNode(mode, medium.now());
  if (there === null) enterName(medium, path, file);
  file.modifiedAt = medium.now();
  return ok(file);
}
