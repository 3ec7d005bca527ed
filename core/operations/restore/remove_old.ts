import type { Disk } from "../../ports/disk.ts";
import { K3S_DATABASE_DIRECTORY, K3S_SERVER_DIRECTORY } from "../../state/paths.ts";
import { type DatabaseFacts, newIn, readDatabase } from "./database.ts";
import { oldData, type Origin } from "./origin.ts";

/**
 * Of the databases and certificates that restores moved aside so many stay: what this restore replaced, and
 * what the one before it did. Each is as large as the database, and k3s never removes one.
 */
const KEPT = 2;

/** As k3s names them; what a person called otherwise is that person's. */
const BY_K3S = /^etcd-old-[0-9]+$/;

/** Files and folders of one that are counted; etcd has some dozens, and a look must end. */
const MAX_ENTRIES = 2_000;

/** What restores have moved aside, and what it takes of the disk. */
export interface MovedAside {
  /** Paths. */
  readonly folders: readonly string[];
  /** Bytes of the files in them. */
  readonly bytes: number;
}

/** What restores have moved aside and nobody has removed. */
export async function movedAside(disk: Disk): Promise<MovedAside> {
  const { oldDatabases, tlsBackups } = await readDatabase(disk);
  const folders = [
    ...oldDatabases.map((name) => `${K3S_DATABASE_DIRECTORY}/${name}`),
    ...tlsBackups.map((name) => `${K3S_SERVER_DIRECTORY}/${name}`),
  ];
  let bytes = 0;
  for (const folder of folders) bytes += await bytesIn(disk, folder);
  return { folders, bytes };
}

/**
 * Removes what earlier restores moved aside, once this restore is proven; never what was there before the
 * restores that led to it. Says what went, what stayed, and how much room that is.
 *
 * @param before what the node showed when this restore began
 */
export async function removeOld(
  disk: Disk,
  origin: Origin,
  before: DatabaseFacts,
): Promise<string> {
  const now = await readDatabase(disk);
  const data = oldData(origin, now)?.slice(K3S_DATABASE_DIRECTORY.length + 1);
  const old = [
    ...toRemove(now.oldDatabases.filter((name) => BY_K3S.test(name)), {
      ...origin,
      before: before.oldDatabases,
      data,
    })
      .map((name) => `${K3S_DATABASE_DIRECTORY}/${name}`),
    ...toRemove(now.tlsBackups, {
      moved: [],
      before: before.tlsBackups,
      data: byNumber(newIn(origin.tlsBackups, now.tlsBackups))[0],
    }).map((name) => `${K3S_SERVER_DIRECTORY}/${name}`),
  ];
  const failed: string[] = [];
  let bytes = 0;
  for (const folder of old) {
    const size = await bytesIn(disk, folder);
    const removed = await disk.remove(folder);
    if (removed.ok) bytes += size;
    else failed.push(removed.error.message);
  }
  const left = await movedAside(disk);
  return [
    old.length === failed.length ? "" : `of earlier restores ${megabytes(bytes)} were removed`,
    failed.length === 0 ? "" : `could not be removed: ${failed.join("; ")}`,
    left.folders.length === 0
      ? ""
      : `what was there before stays (${megabytes(left.bytes)}): ${left.folders.join(", ")}`,
  ].filter((part) => part !== "").join("; ");
}

/** What is known of the order in which folders were moved aside. */
export interface MovedOrder {
  /** Those of failed restores since the cluster last ran, in their order. */
  readonly moved: readonly string[];
  /** Those that were there when this restore began. */
  readonly before: readonly string[];
  /** The one with what the cluster had when it last ran. */
  readonly data: string | undefined;
}

/**
 * Those that go. The one with the cluster's data stays, and beside it the newest: what came with this
 * restore is newer than what was there before it, and what came with a failed one before it newer than the
 * rest. Only among the rest the times in the names count, which a clock that was set back turns around.
 */
export function toRemove(names: readonly string[], order: MovedOrder): readonly string[] {
  const { moved, before, data } = order;
  const rank = (name: string) => !before.includes(name) ? 2 : moved.includes(name) ? 1 : 0;
  const oldestFirst = byNumber(names).toSorted((a, b) =>
    rank(a) - rank(b) || (rank(a) === 1 ? moved.indexOf(a) - moved.indexOf(b) : 0)
  );
  const others = oldestFirst.filter((name) => name !== data);
  return others.slice(0, Math.max(0, names.length - KEPT));
}

function byNumber(names: readonly string[]): readonly string[] {
  const numberOf = (name: string) => Number(/[0-9]+$/.exec(name)?.[0] ?? 0);
  return names.toSorted((a, b) => numberOf(a) - numberOf(b));
}

/** Bytes of the files in a folder; what cannot be looked at counts nothing. */
async function bytesIn(disk: Disk, folder: string): Promise<number> {
  const open = [folder];
  let bytes = 0;
  for (let seen = 0; seen < MAX_ENTRIES; seen++) {
    const path = open.pop();
    if (path === undefined) break;
    const stat = await disk.stat(path);
    if (!stat.ok || stat.value === null) continue;
    if (stat.value.kind === "file") bytes += stat.value.size;
    if (stat.value.kind !== "directory") continue;
    const names = await disk.list(path);
    for (const name of names.ok ? names.value ?? [] : []) open.push(`${path}/${name}`);
  }
  return bytes;
}

/** For people. */
export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_000_000)} MB`;
}
