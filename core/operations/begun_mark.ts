import type { Disk, DiskError } from "../ports/disk.ts";
import { isOperationId } from "../protocol/identifiers.ts";
import type { Result } from "../result.ts";
import { writeDocument } from "../state/durable.ts";
import { OPERATIONS_DIRECTORY } from "../state/paths.ts";

/**
 * The note that a destructive step of an operation may have begun, beside its log. state.json knows that
 * too, but state.json can be lost, and such an operation is never begun anew (operations.md, Files).
 */

const ENDING = ".begun";
/** As long as an operation's result is kept (protocol §5). */
const KEPT_MS = 30 * 24 * 3_600_000;
/** A step's name. */
const MAX_BYTES = 256;

function markPath(id: string): string {
  if (!isOperationId(id)) throw new RangeError("an operation's ID must name its mark");
  return `${OPERATIONS_DIRECTORY}/${id}${ENDING}`;
}

/** Notes it, durably. */
export function markBegun(disk: Disk, id: string, step: string): Promise<Result<void, DiskError>> {
  return writeDocument(disk, markPath(id), new TextEncoder().encode(step));
}

/**
 * Which destructive step of an operation may have begun in the last 30 days; null where none has. What
 * cannot be read counts as begun, by the name "unknown".
 *
 * @param now milliseconds since the epoch, by the clock that the files have their times from
 */
export async function begunStep(disk: Disk, id: string, now: number): Promise<string | null> {
  const stat = await disk.stat(markPath(id));
  if (!stat.ok) return "unknown";
  if (stat.value === null || now - stat.value.modifiedAt >= KEPT_MS) return null;
  const read = await disk.read(markPath(id), MAX_BYTES);
  const text = read.ok && read.value !== null ? new TextDecoder().decode(read.value) : "";
  return /^[a-z][a-z0-9_]*$/.test(text) ? text : "unknown";
}

/** Whether a file beside the logs is a mark that still counts. */
export async function isMarkKept(disk: Disk, name: string, now: number): Promise<boolean> {
  if (!name.endsWith(ENDING)) return false;
  const stat = await disk.stat(`${OPERATIONS_DIRECTORY}/${name}`);
  return !stat.ok || (stat.value !== null && now - stat.value.modifiedAt < KEPT_MS);
}
