import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { parseOwned, writeOwned } from "../../state/owner.ts";
import { K3S_DATABASE_DIRECTORY, RESTORE_ORIGIN_FILE } from "../../state/paths.ts";
import { DatabaseFacts, lookAtDatabase, newIn } from "./database.ts";

/** What {@link noteOrigin} notes. */
export const Origin = DatabaseFacts.extend({
  /**
   * The databases that failed restores have moved aside since, in the order in which the restores after
   * them found them: the first one is the cluster's. By the times in their names it could be any.
   */
  moved: z.array(z.string()).default([]),
});
export type Origin = z.infer<typeof Origin>;

/**
 * What the node showed of the database when k3s last ran on it. A restore that follows a failed one finds
 * what that one left: whatever it moves aside is not the cluster's data, and this tells the two apart.
 *
 * @param isHeld a restore holds k3s: it has not run since that restore noted this
 */
export async function noteOrigin(
  disk: Disk,
  isHeld: boolean,
): Promise<Result<Origin, DiskError>> {
  const look = await lookAtDatabase(disk);
  if (!look.ok) return look;
  const now = look.value;
  // What cannot be read at the moment is noted all the same, and is not written over.
  const read = await disk.read(RESTORE_ORIGIN_FILE);
  if (!read.ok) return read;
  const noted = isHeld ? await readOrigin(disk) : null;
  if (noted === null) return await write(disk, { ...now, moved: [] });
  const more = newIn([...noted.oldDatabases, ...noted.moved], now.oldDatabases);
  if (more.length === 0) return ok(noted);
  return await write(disk, { ...noted, moved: [...noted.moved, ...more] });
}

async function write(disk: Disk, origin: Origin): Promise<Result<Origin, DiskError>> {
  const written = await writeOwned(disk, RESTORE_ORIGIN_FILE, origin);
  return written.ok ? ok(origin) : written;
}

/** What {@link noteOrigin} noted; null where there is nothing that can be read. */
export async function readOrigin(disk: Disk): Promise<Origin | null> {
  const read = await disk.read(RESTORE_ORIGIN_FILE);
  if (!read.ok || read.value === null) return null;
  const origin = Origin.safeParse(await parseOwned(disk, read.value));
  return origin.success ? origin.data : null;
}

/** The folder that holds the data of before, where a reset moved it aside; null where none did. */
export function oldData(origin: Origin, now: DatabaseFacts): string | null {
  if (origin.etcd !== "whole") return null;
  const there = newIn(origin.oldDatabases, now.oldDatabases);
  const first = origin.moved[0] ?? there[0];
  return first !== undefined && there.includes(first) ? `${K3S_DATABASE_DIRECTORY}/${first}` : null;
}
