import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { fail, ok, type Result } from "../../result.ts";
import { K3S_DATABASE_DIRECTORY, K3S_SERVER_DIRECTORY } from "../../state/paths.ts";

/** What the name of a database that a reset moved aside begins with. */
export const OLD_DATABASE = "etcd-old-";

/** What the node shows of k3s's database, as a restore changes it (k3s fact D). */
export const DatabaseFacts = z.object({
  /** `whole`: with a write-ahead log; `bare`: a folder without one; or no folder. */
  etcd: z.enum(["absent", "bare", "whole"]),
  /** `db/etcd/name`: k3s has made the database its own. */
  named: z.boolean(),
  /** `db/reset-flag`. Proves nothing: it is written before etcd comes up, and can be an old one. */
  resetFlag: z.boolean(),
  /** Databases that restores moved aside: `etcd-old-<unix seconds>`. */
  oldDatabases: z.array(z.string()),
  /** Certificates that restores moved aside: `tls-<unix seconds>`, the last thing a restore does. */
  tlsBackups: z.array(z.string()),
  /** When an sqlite database, which k3s makes where it finds no etcd, was last written; null: none. */
  sqliteWrittenAt: z.number().nullable(),
  /** Size and time of each of its files; null in facts that an earlier version of the agent noted. */
  sqlite: z.record(z.string(), z.string()).nullable().default(null),
});
export type DatabaseFacts = z.infer<typeof DatabaseFacts>;

/**
 * Reads them for words: what cannot be read counts as not there. A verdict needs {@link lookAtDatabase}.
 */
export async function readDatabase(disk: Disk): Promise<DatabaseFacts> {
  return (await look(disk)).facts;
}

/** Reads them, all of them: a disk that cannot be read at the moment shows nothing. */
export async function lookAtDatabase(disk: Disk): Promise<Result<DatabaseFacts, DiskError>> {
  const { facts, error } = await look(disk);
  return error === null ? ok(facts) : fail(error);
}

async function look(
  disk: Disk,
): Promise<{ readonly facts: DatabaseFacts; readonly error: DiskError | null }> {
  let error: DiskError | null = null;
  const names = async (path: string) => {
    const list = await disk.list(path);
    if (!list.ok) error ??= list.error;
    return list.ok ? list.value : null;
  };
  const stat = async (path: string) => {
    const found = await disk.stat(path);
    if (!found.ok) error ??= found.error;
    return found.ok ? found.value : null;
  };
  const etcd = `${K3S_DATABASE_DIRECTORY}/etcd`;
  const wal = await names(`${etcd}/member/wal`);
  const sqlite: Record<string, string> = {};
  const written: number[] = [];
  for (const file of ["state.db", "state.db-wal"]) {
    const found = await stat(`${K3S_DATABASE_DIRECTORY}/${file}`);
    if (found === null) continue;
    sqlite[file] = `${found.size} ${found.modifiedAt}`;
    written.push(found.modifiedAt);
  }
  const below = await names(K3S_DATABASE_DIRECTORY) ?? [];
  const server = await names(K3S_SERVER_DIRECTORY) ?? [];
  const facts: DatabaseFacts = {
    etcd: await stat(etcd) === null
      ? "absent"
      : wal === null || wal.length === 0
      ? "bare"
      : "whole",
    named: await stat(`${etcd}/name`) !== null,
    resetFlag: below.includes("reset-flag"),
    oldDatabases: below.filter((name) => name.startsWith(OLD_DATABASE)),
    tlsBackups: server.filter((name) => /^tls-[0-9]+$/.test(name)),
    sqliteWrittenAt: written.length === 0 ? null : Math.max(...written),
    sqlite,
  };
  return { facts, error };
}

/**
 * How far a reset has come, by what it left. `untouched`: nothing was moved. `emptied`: the old database
 * was moved aside, nothing is in its place. `unnamed`: the snapshot is on the disk, and k3s has not made
 * it its own. `no_certificates`: its certificates were not taken out of it: cut short, or the token is a
 * wrong one. `reset`: everything is there that a whole reset leaves; k3s's own word must be added.
 */
export type ResetState = "untouched" | "emptied" | "unnamed" | "no_certificates" | "reset";

/** Judges what the node shows now against what it showed before the reset. */
export function judgeReset(before: DatabaseFacts, now: DatabaseFacts): ResetState {
  const movedDatabase = newIn(before.oldDatabases, now.oldDatabases).length > 0;
  const movedTls = newIn(before.tlsBackups, now.tlsBackups).length > 0;
  if (!movedDatabase && !movedTls) {
    // A folder that k3s made at its start, where there was no database before, is no loss.
    const lost = before.etcd === "whole" ? now.etcd !== "whole" : now.etcd === "whole";
    if (!lost) return "untouched";
  }
  if (now.etcd !== "whole") return "emptied";
  if (!now.named || !now.resetFlag) return "unnamed";
  return movedTls && movedDatabase ? "reset" : "no_certificates";
}

/** Whether k3s has written an sqlite database since: it did not come up on etcd. */
export function hasNewSqlite(before: DatabaseFacts, now: DatabaseFacts): boolean {
  if (before.sqlite === null || now.sqlite === null) {
    return now.sqliteWrittenAt !== null && now.sqliteWrittenAt !== before.sqliteWrittenAt;
  }
  // Each file by itself: a clock that was set back can leave the newest of the times as it was.
  return Object.entries(now.sqlite).some(([file, print]) => before.sqlite?.[file] !== print);
}

/** What is there now and was not before. The times in the names order nothing: a clock can be set back. */
export function newIn(before: readonly string[], now: readonly string[]): readonly string[] {
  return now.filter((name) => !before.includes(name));
}
