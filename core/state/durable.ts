import type { Disk, DiskError } from "../ports/disk.ts";
import type { Result } from "../result.ts";
import { ok } from "../result.ts";
import { parentOf } from "./paths.ts";

/** Mode of every document that the agent keeps: root alone reads it. */
export const PRIVATE_FILE = 0o600;
/** Mode of the agent's own folders. */
export const PRIVATE_DIRECTORY = 0o700;

/**
 * Writes a document so that after any crash the path holds either the old bytes or the new ones, whole
 * (operations.md, Files): temporary file with the final mode, fsync, rename, fsync of the folder. A
 * failure leaves the old content readable.
 */
export async function writeDocument(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  mode = PRIVATE_FILE,
): Promise<Result<void, DiskError>> {
  const temporary = `${path}.tmp`;
  const folder = await disk.makeDirectory(parentOf(path), PRIVATE_DIRECTORY);
  if (!folder.ok) return folder;
  const written = await disk.write(temporary, bytes, mode);
  if (!written.ok) return written;
  const renamed = await disk.rename(temporary, path);
  if (!renamed.ok) return renamed;
  return await disk.syncDirectory(parentOf(path));
}

/** What was found where a document should be. */
export type Found<T> =
  | { readonly kind: "absent" }
  | { readonly kind: "loaded"; readonly value: T }
  /** Written by a newer program: refused, and never overwritten. */
  | { readonly kind: "newer"; readonly format: number }
  | {
    readonly kind: "unreadable";
    readonly reason: string;
    /** The agent that the file belongs to, where it is another one's (core/state/json_document.ts). */
    readonly owner?: string;
  };

/** Understands the bytes of a document; never throws. */
export type Parse<T> = (bytes: Uint8Array) => Exclude<Found<T>, { kind: "absent" }>;

/** The same where reading includes the verification of a signature. */
export type ParseLater<T> = (...bytes: Parameters<Parse<T>>) => Promise<ReturnType<Parse<T>>>;

/**
 * Reads a document. Where the file is missing, empty or unreadable, a whole temporary file of the same
 * document is taken instead and put in its place; a temporary file beside a good one is the rest of a
 * write that never counted and is removed, so that it cannot come back later.
 */
export async function readDocument<T>(
  disk: Disk,
  path: string,
  parse: Parse<T> | ParseLater<T>,
): Promise<Result<Found<T>, DiskError>> {
  const temporary = `${path}.tmp`;
  const main = await readOne(disk, path, parse);
  if (!main.ok) return main;
  const copy = await readOne(disk, temporary, parse);
  if (!copy.ok) return main.value.kind === "loaded" ? main : copy;
  if (main.value.kind === "loaded" || main.value.kind === "newer") {
    if (copy.value.kind !== "absent" && main.value.kind === "loaded") await disk.remove(temporary);
    return main;
  }
  if (copy.value.kind !== "loaded" && copy.value.kind !== "newer") return main;
  const renamed = await disk.rename(temporary, path);
  if (renamed.ok) await disk.syncDirectory(parentOf(path));
  return copy;
}

async function readOne<T>(
  disk: Disk,
  path: string,
  parse: Parse<T> | ParseLater<T>,
): Promise<Result<Found<T>, DiskError>> {
  const read = await disk.read(path);
  if (!read.ok && read.error.code === "too_large") {
    return ok({ kind: "unreadable", reason: "is larger than any such file" });
  }
  if (!read.ok) return read;
  if (read.value === null) return ok({ kind: "absent" });
  if (read.value.length === 0) return ok({ kind: "unreadable", reason: "the file is empty" });
  return ok(await parse(read.value));
}
