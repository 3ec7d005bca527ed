import type { DiskError } from "../../core/ports/disk.ts";

const CODES: Readonly<Record<string, DiskError["code"]>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "read_only",
  EACCES: "denied",
  EPERM: "denied",
  ENOENT: "missing",
  ENOTDIR: "missing",
};

/** Numbers of the same errors (Linux), for those to which Deno gives no name. */
const NUMBERS: Readonly<Record<string, DiskError["code"]>> = {
  1: "denied",
  2: "missing",
  13: "denied",
  20: "missing",
  28: "full",
  30: "read_only",
  122: "full",
};

const WAYS_OUT: Readonly<Record<DiskError["code"], string>> = {
  full: "free some room (or quota) on its file system",
  read_only: "its file system is mounted read-only: look for disk errors, then mount it writable",
  denied: "the agent has no right to it: see its owner and mode, and what the program may reach",
  too_large: "it should not be that big: look at what wrote it",
  missing: "it, or a folder that should hold it, does not exist",
  io: "look at what is at that path, and in the kernel's log for errors of the disk",
};

/**
 * What a thrown error of `node:fs` means. `action` says what was tried, `path` is the path as the
 * caller named it. A RangeError is the adapter's own refusal, which says itself what to do instead.
 */
export function diskError(action: string, path: string, cause: unknown): DiskError {
  const code = codeOf(cause);
  const said = cause instanceof Error ? cause.message : String(cause);
  const wayOut = cause instanceof RangeError ? "" : `; ${WAYS_OUT[code]}`;
  return { code, path, message: `cannot ${action} ${path}: ${said}${wayOut}` };
}

/** Thrown while reading a file that has more bytes than its reader allows. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`more than ${maxBytes} bytes`);
  }
}

/** Whether an error of `node:fs` says that nothing is at the path. */
export function isAbsent(cause: unknown): boolean {
  return codeOf(cause) === "missing";
}

/** Whether an error of `node:fs` says that something is at the path already. */
export function isPresent(cause: unknown): boolean {
  return systemName(cause) === "EEXIST";
}

function codeOf(cause: unknown): DiskError["code"] {
  if (!(cause instanceof Error)) return "io";
  if (cause instanceof TooLarge) return "too_large";
  if (cause.name === "NotCapable") return "denied";
  const number = /\(os error (\d+)\)/.exec(cause.message)?.[1] ?? "";
  return CODES[systemName(cause)] ?? NUMBERS[number] ?? "io";
}

function systemName(cause: unknown): string {
  if (!(cause instanceof Error) || !("code" in cause)) return "";
  return typeof cause.code === "string" ? cause.code : "";
}
