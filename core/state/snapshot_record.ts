import * as z from "zod";
import type { Disk, DiskError } from "../ports/disk.ts";
import { Sha256Hex } from "../protocol/identifiers.ts";
import { ok, type Result } from "../result.ts";
import type { Found } from "./durable.ts";
import { FORMAT } from "./json_document.ts";
import { readOwned, writeOwned } from "./owner.ts";
import { SNAPSHOTS_FILE } from "./paths.ts";
import { openTurns } from "./turns.ts";

/** A snapshot of this node's own as it was when k3s had written it. */
export const KnownSnapshot = z.object({
  /** The name of its file, on the node and in the bucket's folder. */
  name: z.string().min(1).max(255),
  /** Bytes of that file. */
  size: z.int().min(1),
  sha256: Sha256Hex,
  /**
   * When the file was last written, and when the agent took its hash: milliseconds since the epoch by the
   * node's own clock, whatever that shows.
   */
  modified_ms: z.int(),
  noted_ms: z.int(),
});
export type KnownSnapshot = z.infer<typeof KnownSnapshot>;

/** snapshots.json (trust.md T6). */
const SnapshotsDocument = z.object({
  format: z.literal(FORMAT),
  snapshots: z.array(KnownSnapshot),
});

/** Snapshots that are known at most (trust.md T6). */
export const MAX_KNOWN = 500;

/** What the agent knows of its node's snapshots, on disk. */
export interface SnapshotRecord {
  /** All that are known; none where the file is not there or cannot be understood. */
  all(): Promise<Result<readonly KnownSnapshot[], DiskError>>;
  /** What is known of the snapshot whose file has this name; null where nothing is. */
  find(name: string): Promise<Result<KnownSnapshot | null, DiskError>>;
  /** Adds snapshots, durably. Each replaces the one of its name. */
  note(snapshots: readonly KnownSnapshot[]): Promise<Result<void, DiskError>>;
}

/** Opens the record. The cycles and an operation use it at once: one call waits for the other. */
export function openSnapshotRecord(disk: Disk): SnapshotRecord {
  const inTurn = openTurns();
  const read = () => readOwned(disk, SNAPSHOTS_FILE, SnapshotsDocument);

  async function all(): Promise<Result<readonly KnownSnapshot[], DiskError>> {
    const found = await inTurn(read);
    return found.ok ? ok(listOf(found.value)) : found;
  }

  return {
    all,
    async find(name) {
      const known = await all();
      return known.ok ? ok(known.value.find((one) => one.name === name) ?? null) : known;
    },
    note: (snapshots) =>
      inTurn(async () => {
        const found = await read();
        if (!found.ok) return found;
        // A newer program wrote it, and will read it again.
        if (found.value.kind === "newer") return ok(undefined);
        const known = withSnapshots(listOf(found.value), snapshots);
        return await writeOwned(disk, SNAPSHOTS_FILE, { format: FORMAT, snapshots: known });
      }),
  };
}

function listOf(
  found: Found<{ readonly snapshots: readonly KnownSnapshot[] }>,
): readonly KnownSnapshot[] {
  return found.kind === "loaded" ? found.value.snapshots : [];
}

/** The list with more snapshots in it. Those whose names have the oldest times make room. */
export function withSnapshots(
  known: readonly KnownSnapshot[],
  more: readonly KnownSnapshot[],
): readonly KnownSnapshot[] {
  const names = new Set(more.map(({ name }) => name));
  const list = [...known.filter(({ name }) => !names.has(name)), ...more];
  if (list.length <= MAX_KNOWN) return list;
  const newest = list.toSorted((a, b) => timeInName(b.name) - timeInName(a.name));
  const kept = new Set(newest.slice(0, MAX_KNOWN));
  return list.filter((one) => kept.has(one));
}

/** Seconds since the epoch that k3s put at the end of a snapshot's file name; 0 where there are none. */
export function timeInName(name: string): number {
  return Number(/-([0-9]{1,11})(?:\.zip)?$/.exec(name)?.[1] ?? 0);
}
