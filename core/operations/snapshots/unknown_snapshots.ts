import { type KnownSnapshot, MAX_KNOWN, timeInName } from "../../state/snapshot_record.ts";
import type { SnapshotResource } from "./snapshot_resource.ts";

/** A snapshot's file on the node. */
export interface SnapshotOnNode {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

/** What k3s puts behind a node's name. */
const TIME = /^[0-9]{1,11}(?:\.zip)?$/;

/**
 * Whether a file is a snapshot that k3s took on this node: `<name>-<node>-<unix seconds>[.zip]`.
 *
 * @param nodes what k3s may call this node
 */
export function isOwnFile(file: string, nodes: readonly string[]): boolean {
  return nodes.some((node) => {
    const at = file.lastIndexOf(`-${node}-`);
    return at > 0 && TIME.test(file.slice(at + node.length + 2));
  });
}

/**
 * Of the snapshots on the node those that the record lacks, newest first. It has room for the newest ones
 * only.
 */
export function unknownSnapshots(
  there: readonly SnapshotOnNode[],
  known: readonly KnownSnapshot[],
): readonly SnapshotOnNode[] {
  const byName = new Map(known.map((one) => [one.name, one]));
  const oldest = known.length < MAX_KNOWN
    ? Number.NEGATIVE_INFINITY
    : Math.min(...known.map(({ name }) => timeInName(name)));
  return there
    .filter((one) => {
      const before = byName.get(one.file);
      if (before !== undefined) return wasTakenAgain(one, before);
      return timeInName(one.file) > oldest;
    })
    .toSorted((a, b) => timeInName(b.file) - timeInName(a.file))
    .slice(0, MAX_KNOWN);
}

/**
 * Whether k3s overwrote a snapshot because the clock was set back and gave its name again: then the file was
 * written at a time that, by this clock, is before the agent took the hash. A file that was changed later
 * keeps its first hash, and a restore refuses it.
 */
function wasTakenAgain({ modifiedAt }: SnapshotOnNode, known: KnownSnapshot): boolean {
  return modifiedAt !== known.modified_ms && modifiedAt < known.noted_ms;
}

/** Those of which k3s says that they are whole: it is done with a file of that size. */
export function vouchedFor(
  snapshots: readonly SnapshotOnNode[],
  told: readonly SnapshotResource[],
): readonly SnapshotOnNode[] {
  const sizes = new Map<string, number | null>();
  for (const { file, location, error, size } of told) {
    if (location === "local" && error === null) sizes.set(file, size);
  }
  return snapshots.filter(({ file, size }) => sizes.get(file) === size);
}
