import * as z from "zod";
import type { Disk, DiskError } from "../ports/disk.ts";
import { isOperationId, Rfc3339 } from "../protocol/identifiers.ts";
import type { Result } from "../result.ts";
import { parseOwned, writeOwned } from "../state/owner.ts";
import { OPERATIONS_DIRECTORY } from "../state/paths.ts";
import { mayForget, sinceOf, type Witnesses } from "../state/witnesses.ts";

/**
 * The note that a destructive step of an operation may have begun, beside its log. state.json knows that
 * too, but state.json can be lost, and such an operation is never begun anew (operations.md, Files). The
 * note counts as long as it is there; it goes when every witness of time says that it is old enough.
 */

const ENDING = ".begun";
/** A step's name, and since when the note is forgotten. */
const MAX_BYTES = 1_024;
const StepName = z.string().regex(/^[a-z][a-z0-9_]*$/);

/** `at` and `lived_ms` come with the first look after the operation is not known any more. */
const Mark = z.object({
  step: StepName.catch("unknown"),
  at: Rfc3339.optional().catch(undefined),
  lived_ms: z.int().min(0).optional().catch(undefined),
});
type Mark = z.infer<typeof Mark>;

function markPath(id: string): string {
  if (!isOperationId(id)) throw new RangeError("an operation's ID must name its mark");
  return `${OPERATIONS_DIRECTORY}/${id}${ENDING}`;
}

/** Notes it, durably. */
export function markBegun(disk: Disk, id: string, step: string): Promise<Result<void, DiskError>> {
  return writeOwned(disk, markPath(id), { step });
}

/**
 * Which destructive step of an operation may have begun; null where none has. What cannot be read counts as
 * begun, by the name "unknown".
 */
export async function begunStep(disk: Disk, id: string): Promise<string | null> {
  const mark = await readMark(disk, markPath(id));
  return mark === null ? null : mark.step;
}

/**
 * Whether a file beside the logs is a mark that still counts, where its operation is not known any more.
 * Notes since when it is kept, by every witness, so that a later look can tell.
 */
export async function isMarkKept(
  disk: Disk,
  name: string,
  witnesses: Witnesses,
): Promise<boolean> {
  if (!name.endsWith(ENDING)) return false;
  const path = `${OPERATIONS_DIRECTORY}/${name}`;
  const mark = await readMark(disk, path);
  if (mark === null) return false;
  const { step, at, lived_ms } = mark;
  if (at !== undefined && mayForget({ at, lived_ms }, witnesses)) return false;
  if (at === undefined && !witnesses.isCertain) return true;
  const since = sinceOf({ at: at ?? new Date(witnesses.now).toISOString(), lived_ms }, witnesses);
  // What is not noted now is noted by a later look.
  if (since.at !== at || since.lived_ms !== lived_ms) {
    await writeOwned(disk, path, { step, ...since });
  }
  return true;
}

async function readMark(disk: Disk, path: string): Promise<Mark | null> {
  const read = await disk.read(path, MAX_BYTES);
  if (!read.ok) return { step: "unknown" };
  if (read.value === null) return null;
  const text = new TextDecoder().decode(read.value);
  // Earlier versions wrote the name alone.
  if (StepName.safeParse(text).success) return { step: text };
  const parsed = Mark.safeParse(await parseOwned(disk, read.value));
  return parsed.success ? parsed.data : { step: "unknown" };
}
