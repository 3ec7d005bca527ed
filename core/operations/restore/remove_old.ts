import type { Disk } from "../../ports/disk.ts";
import { K3S_DATABASE_DIRECTORY, K3S_SERVER_DIRECTORY } from "../../state/paths.ts";
import { newIn, readDatabase } from "./database.ts";
import { oldData, oldestFirst, type Origin } from "./origin.ts";

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
 */
export async function removeOld(disk: Disk, origin: Origin): Promise<string> {
  const now = await readDatabase(disk);
  const databases = oldestFirst(origin, now.oldDatabases.filter((name) => BY_K3S.test(name)));
  const data = oldData(origin, now)?.slice(K3S_DATABASE_DIRECTORY.length + 1);
  const backups = oldestFirst(origin, now.tlsBackups);
  const old = [
    ...toRemove(databases, data).map((name) => `${K3S_DATABASE_DIRECTORY}/${name}`),
    ...toRemove(backups, newIn(origin.tlsBackups, backups)[0])
      .map((name) => `${K3S_SERVER_DIRECTORY}/${name}`),
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

/**
 * Those that go, of names with the oldest first. The one with the cluster's data stays, and beside it the
 * newest.
 *
 * @param data the one with what the cluster had when it last ran
 */
export function toRemove(names: readonly string[], data: string | undefined): readonly string[] {
  const others = names.filter((name) => name !== data);
  return others.slice(0, Math.max(0, names.length - KEPT));
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
