import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { parseOwned, writeOwned } from "../../state/owner.ts";
import { K3S_DATABASE_DIRECTORY, RESTORE_ORIGIN_FILE } from "../../state/paths.ts";
import { DatabaseFacts, lookAtDatabase, newIn, OLD_DATABASE } from "./database.ts";

/** What {@link noteOrigin} notes. */
export const Origin = DatabaseFacts.extend({
  /**
   * Every database and certificate folder that was found aside, in the order in which restores found them.
   * The times in their names order only those that the first restore found: a clock can be set back.
   */
  seen: z.array(z.string()).default([]),
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
  const noted = await readOrigin(disk);
  const aside = [...now.oldDatabases, ...now.tlsBackups];
  const more = byTime(newIn(noted?.seen ?? [], aside));
  if (!isHeld || noted === null) {
    const left = (noted?.seen ?? []).filter((name) => aside.includes(name));
    return await write(disk, { ...now, seen: [...left, ...more] });
  }
  return more.length === 0
    ? ok(noted)
    : await write(disk, { ...noted, seen: [...noted.seen, ...more] });
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
  const moved = origin.seen.filter((name) => name.startsWith(OLD_DATABASE));
  const first = newIn(origin.oldDatabases, moved)[0] ?? there[0];
  return first !== undefined && there.includes(first) ? `${K3S_DATABASE_DIRECTORY}/${first}` : null;
}

/** What was moved aside, oldest first: as restores found it, and behind that by the times in the names. */
export function oldestFirst(origin: Origin, names: readonly string[]): readonly string[] {
  const rank = (name: string) => {
    const place = origin.seen.indexOf(name);
    return place < 0 ? origin.seen.length : place;
  };
  return byTime(names).toSorted((a, b) => rank(a) - rank(b));
}

function byTime(names: readonly string[]): readonly string[] {
  const timeOf = (name: string) => Number(/[0-9]+$/.exec(name)?.[0] ?? 0);
  return names.toSorted((a, b) => timeOf(a) - timeOf(b));
}
