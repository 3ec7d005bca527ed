import * as z from "zod";

/** What a snapshot may be called (`--name`): k3s makes a file name and an object's name of it. */
export const SnapshotName = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
  "is no name of a snapshot (letters, digits, dot, underscore, dash; at most 128)",
);

/** The file name of a snapshot, on the node and in the bucket's folder. */
export const SnapshotFileName = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/,
  "is no file name of a snapshot",
);

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
