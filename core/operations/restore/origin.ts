import type { Disk, DiskError } from "../../ports/disk.ts";
import { ok, type Result } from "../../result.ts";
import { writeDocument } from "../../state/durable.ts";
import { RESTORE_ORIGIN_FILE } from "../../state/paths.ts";
import { DatabaseFacts, movedAside, readDatabase } from "./database.ts";

/**
 * What the node showed of the database when k3s last ran on it. A restore that follows a failed one finds
 * what that one left: whatever it moves aside is not the cluster's data, and this tells the two apart.
 *
 * @param isHeld a restore holds k3s: it has not run since that restore noted this
 */
export async function noteOrigin(
  disk: Disk,
  isHeld: boolean,
): Promise<Result<DatabaseFacts, DiskError>> {
  if (isHeld) {
    const noted = await readOrigin(disk);
    if (noted !== null) return ok(noted);
  }
  const now = await readDatabase(disk);
  const bytes = new TextEncoder().encode(JSON.stringify(now));
  const written = await writeDocument(disk, RESTORE_ORIGIN_FILE, bytes);
  return written.ok ? ok(now) : written;
}

/** What {@link noteOrigin} noted; null where there is nothing that can be read. */
export async function readOrigin(disk: Disk): Promise<DatabaseFacts | null> {
  const read = await disk.read(RESTORE_ORIGIN_FILE);
  if (!read.ok || read.value === null) return null;
  try {
    return DatabaseFacts.parse(JSON.parse(new TextDecoder().decode(read.value)));
  } catch {
    return null;
  }
}

/** The folder that holds the data of before, where resets moved it aside; null where none did. */
export function oldData(origin: DatabaseFacts, now: DatabaseFacts): string | null {
  return origin.etcd === "whole" ? movedAside(origin, now)[0] ?? null : null;
}
