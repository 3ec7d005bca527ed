import type { StepTools } from "../definition.ts";
import { snapshotDirectory } from "./find_snapshots.ts";
import { hashSnapshot } from "./hash_snapshot.ts";

/**
 * Takes the SHA-256 of a snapshot that was just confirmed and puts it into the record that restores compare
 * with. Null where the node has no copy; whatever is in the way is no failure of the snapshot.
 */
export async function noteSnapshot<P>(
  { ports, snapshots, say }: StepTools<P>,
  snapshot: { readonly file: string; readonly size: number },
): Promise<string | null> {
  const directory = await snapshotDirectory(ports);
  const known = await hashSnapshot(ports, directory, snapshot);
  if (!known.ok || known.value === null) {
    const why = known.ok ? "the node has no such copy of it" : known.error.message;
    await say(`the SHA-256 of ${snapshot.file} cannot be taken: ${why}`);
    return null;
  }
  const noted = await snapshots.note([known.value]);
  if (!noted.ok) {
    await say(`the SHA-256 of ${snapshot.file} is not noted yet: ${noted.error.message}`);
  }
  return known.value.sha256;
}
