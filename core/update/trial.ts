import * as z from "zod";
import type { Disk, DiskError } from "../ports/disk.ts";
import { ReleaseVersion, Rfc3339 } from "../protocol/identifiers.ts";
import type { Result } from "../result.ts";
import type { Found } from "../state/durable.ts";
import { FORMAT } from "../state/json_document.ts";
import { readOwned, writeOwned } from "../state/owner.ts";
import { parentOf, UPDATE_FILE } from "../state/paths.ts";

/**
 * The form of update.json: what the rollback knows of the update that is on trial, kept apart from
 * state.json because two programs and versions must understand it, one of which may be broken.
 */
export const TrialDocument = z.object({
  format: z.literal(FORMAT),
  from: ReleaseVersion,
  to: ReleaseVersion,
  armed_at: Rfc3339,
  deadline: Rfc3339,
  /** What the rollback did; not there before it. */
  rolled_back: z.object({ at: Rfc3339, reason: z.string() }).optional(),
});
/** What update.json holds. */
export type Trial = Omit<z.infer<typeof TrialDocument>, "format">;

/** Reads update.json; that of another agent is unreadable, and its `owner` says so. */
export function readTrial(disk: Disk): Promise<Result<Found<Trial>, DiskError>> {
  return readOwned(disk, UPDATE_FILE, TrialDocument);
}

/** Writes update.json, durably. */
export function writeTrial(disk: Disk, trial: Trial): Promise<Result<void, DiskError>> {
  return writeOwned(disk, UPDATE_FILE, { format: FORMAT, ...trial });
}

/** Removes update.json, durably; needs no room. From then on a rollback does nothing. */
export async function removeTrial(disk: Disk): Promise<Result<void, DiskError>> {
  for (const path of [`${UPDATE_FILE}.tmp`, UPDATE_FILE]) {
    const removed = await disk.remove(path);
    if (!removed.ok) return removed;
  }
  return await disk.syncDirectory(parentOf(UPDATE_FILE));
}
