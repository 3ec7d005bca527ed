import * as z from "zod";

/** A snapshot's name (protocol §8): what it may be called (`--name`). */
export const SnapshotName = z.string().regex(
  /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/,
  "is no name of a snapshot (letters, digits, dots but not two in a row, underscores, dashes; at most 200)",
);

/** What k3s puts behind a name, and how long a file's name can be. */
const MADE_BY_K3S = /-[0-9]{9,11}(?:\.zip)?$/;
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
  /** Those taken before do not count, seconds since the epoch; 0 where the name is nobody else's. */
  readonly notBefore: number;
}

/** When a snapshot was taken, seconds since the epoch, if `file` is one of those. */
export function takenAt(file: string, { name, nodes, notBefore }: SnapshotOf): number | null {
  for (const node of nodes) {
    const prefix = `${name}-${node}-`;
    if (!file.startsWith(prefix)) continue;
    const seconds = /^([0-9]{9,11})(?:\.zip)?$/.exec(file.slice(prefix.length))?.[1];
    if (seconds !== undefined && Number(seconds) >= notBefore) return Number(seconds);
  }
  return null;
}
