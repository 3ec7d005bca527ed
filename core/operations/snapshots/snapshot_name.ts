import * as z from "zod";
import { isSnapshotName } from "../../protocol/identifiers.ts";
import type { SnapshotsBefore } from "./snapshots_before.ts";

/** A snapshot's name (protocol §8): what it may be called (`--name`). */
export const SnapshotName = z.string().refine(
  isSnapshotName,
  "is no name of a snapshot (letters, digits, dots but not two in a row, underscores, dashes; at most 200)",
);

/** What k3s puts behind a name, and how long a file's name can be. */
const MADE_BY_K3S = /-[0-9]{1,11}(?:\.zip)?$/;
/** A clock that was never set begins in 1970: few digits are a time too. */
const SECONDS = /^([0-9]{1,11})(?:\.zip)?$/;
const MAX_FILE_NAME = 255;

/**
 * A snapshot's file on the node and in the bucket's folder: a name, or what k3s made of one. That is
 * longer, and what a name of full length was saved as must be possible to restore.
 */
export const SnapshotFile = z.string().refine(
  (file) => SnapshotName.safeParse(file).success || isMadeOfName(file),
  "is no name of a snapshot or of its file (letters, digits, dots but not two in a row, underscores, " +
    "dashes; at most 200, without what k3s puts behind it)",
);

function isMadeOfName(file: string): boolean {
  return file.length <= MAX_FILE_NAME && MADE_BY_K3S.test(file) && !file.includes("..") &&
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(file);
}

/** Which files are snapshots of one name: `<name>-<node>-<unix seconds>[.zip]` (k3s fact C). */
export interface SnapshotOf {
  readonly name: string;
  /** What k3s may call this node. */
  readonly nodes: readonly string[];
  /** What carried the name before; null where the name is nobody else's. */
  readonly before: SnapshotsBefore | null;
}

/**
 * The time in a snapshot's file name, seconds since the epoch, if `file` carries the name. It orders what
 * an operation has, and tells people; it never says whose a snapshot is.
 */
export function namedTime(
  file: string,
  { name, nodes }: Pick<SnapshotOf, "name" | "nodes">,
): number | null {
  for (const node of nodes) {
    const prefix = `${name}-${node}-`;
    if (!file.startsWith(prefix)) continue;
    const seconds = SECONDS.exec(file.slice(prefix.length))?.[1];
    if (seconds !== undefined) return Number(seconds);
  }
  return null;
}
