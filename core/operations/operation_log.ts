import type { Disk } from "../ports/disk.ts";
import { isOperationId } from "../protocol/identifiers.ts";
import { PRIVATE_DIRECTORY, PRIVATE_FILE } from "../state/durable.ts";
import { OPERATIONS_DIRECTORY } from "../state/paths.ts";
import type { Redactor } from "./redact.ts";

/** The log of one operation: what its programs printed and what its steps found, secrets removed. */
export interface OperationLog {
  /** Appends a line, or several; `at`: RFC 3339. */
  write(at: string, text: string): Promise<void>;
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

  async function append(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    const appended = await disk.append(path, bytes, PRIVATE_FILE);
    if (appended.ok) size += bytes.length;
  }

  return {
    async write(at, text) {
      if (size >= MAX_BYTES) return;
      const lines = redactor.redact(text).split("\n").map((line) =>
        line.trimEnd().slice(0, MAX_LINE)
      );
      const whole = lines.map((line) => `${at} ${line}\n`).join("");
      await append(size + whole.length > MAX_BYTES ? `${at} (the log is full)\n` : whole);
      if (size + whole.length > MAX_BYTES) size = MAX_BYTES;
    },
    async tail(lines) {
      const read = await disk.read(path, 2 * MAX_BYTES);
      if (!read.ok || read.value === null) return [];
      return new TextDecoder().decode(read.value).trimEnd().split("\n").slice(-lines);
    },
  };
}
