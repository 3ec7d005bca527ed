import type { Disk } from "../ports/disk.ts";
import { printable } from "../printable.ts";
import { isOperationId } from "../protocol/identifiers.ts";
import { PRIVATE_DIRECTORY, PRIVATE_FILE } from "../state/durable.ts";
import { OPERATIONS_DIRECTORY } from "../state/paths.ts";
import { isMarkKept } from "./begun_mark.ts";
import type { Witnesses } from "../state/witnesses.ts";
import type { Redactor } from "./redact.ts";

/** The log of one operation: what its programs printed and what its steps found, secrets removed. */
export interface OperationLog {
  /** Appends a line, or several; `at`: RFC 3339. */
  write(at: string, text: string): Promise<void>;
  /** Appends the operation's last words, to a full log too. */
  end(at: string, text: string): Promise<void>;
  /** The last lines, oldest first. */
  tail(lines: number): Promise<string[]>;
}

/** Largest log of one operation, bytes; what is beyond is dropped and said so. */
const MAX_BYTES = 1_048_576;
/** Longest line, characters. */
const MAX_LINE = 2_000;

/** Where the log of an operation is. The ID names a file and is checked. */
export function operationLogPath(id: string): string {
  if (!isOperationId(id)) throw new RangeError("an operation's ID must name its log file");
  return `${OPERATIONS_DIRECTORY}/${id}.log`;
}

/**
 * Opens the log of an operation, which may have been begun before a crash. A log that cannot be written
 * never fails the operation.
 */
export async function openOperationLog(
  disk: Disk,
  id: string,
  redactor: Redactor,
): Promise<OperationLog> {
  const path = operationLogPath(id);
  await disk.makeDirectory(OPERATIONS_DIRECTORY, PRIVATE_DIRECTORY);
  const stat = await disk.stat(path);
  let size = stat.ok ? stat.value?.size ?? 0 : 0;
  let full = size >= MAX_BYTES;

  async function append(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const appended = await disk.append(path, bytes, PRIVATE_FILE);
    if (appended.ok) size += bytes.length;
  }

  return {
    async write(at, text) {
      for (const block of blocksOf(redactor.redact(text), at)) {
        if (full) return;
        full = size + new TextEncoder().encode(block).length > MAX_BYTES;
        await append(full ? `${at} (the log is full)\n` : block);
      }
    },
    async end(at, text) {
      const [last = ""] = blocksOf(redactor.redact(text), at);
      await append(last);
    },
    async tail(lines) {
      const read = await disk.read(path, 2 * MAX_BYTES);
      if (!read.ok || read.value === null) return [];
      return new TextDecoder().decode(read.value).trimEnd().split("\n").slice(-lines);
    },
  };
}

/** Whole lines that are appended at once, so that a long text does not fail as a whole. */
const BLOCK_LINES = 100;

function blocksOf(text: string, at: string): string[] {
  const lines = text.split(/\r?\n/).map((line, index) => {
    const shown = printable(line.trimEnd().slice(0, MAX_LINE)).slice(0, MAX_LINE);
    // Further in: a line break in words from elsewhere makes no line that looks like one of ours.
    return `${at} ${index === 0 ? "" : "  "}${shown}\n`;
  });
  const blocks: string[] = [];
  for (let first = 0; first < lines.length; first += BLOCK_LINES) {
    blocks.push(lines.slice(first, first + BLOCK_LINES).join(""));
  }
  return blocks;
}

/**
 * Removes the logs of operations that are not known any more: they are kept as long as their results. The
 * marks beside them outlive what is known, and the log of an operation that has one stays with it.
 */
export async function pruneOperationLogs(
  disk: Disk,
  isKnown: (id: string) => boolean,
  witnesses: Witnesses,
): Promise<void> {
  const names = await disk.list(OPERATIONS_DIRECTORY);
  if (!names.ok || names.value === null) return;
  const marked = new Set<string>();
  for (const name of names.value) {
    const id = operationOf(name);
    if (!isKnown(id) && await isMarkKept(disk, name, witnesses)) marked.add(id);
  }
  for (const name of names.value) {
    const id = operationOf(name);
    if (!isKnown(id) && !marked.has(id)) await disk.remove(`${OPERATIONS_DIRECTORY}/${name}`);
  }
}

/** The ID that a log, or a mark beside it, is named after. */
function operationOf(name: string): string {
  return name.replace(/\.(?:log|begun|reboots)$/, "");
}
