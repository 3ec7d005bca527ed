import type { StepEnd, StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { sayLines } from "../say_lines.ts";
import { findLocal, inBucket, snapshotDirectory } from "./find_snapshots.ts";
import { describeSave, judgeSave } from "./judge_save.ts";
import type { SnapshotOf } from "./snapshot_name.ts";

/** How long to look for a snapshot after a run of k3s, by how that ended, milliseconds. */
const LOOK_MS = { saved: 60_000, timeout: 300_000, failed: 15_000, busy: 20_000 } as const;

/**
 * Has k3s take the snapshot, unless there is one of this operation already: a run that was cut short or
 * timed out may have gone on in k3s's server.
 */
export async function takeSnapshot<P>(
  tools: StepTools<P>,
  of: SnapshotOf,
): Promise<StepEnd> {
  const { ports, say, signal } = tools;
  const before = await anywhere(tools, of);
  if (before !== null) return { kind: "done", evidence: `there is ${before} already` };
  let last = "k3s was not run";
  while (!signal.aborted) {
    const lines = sayLines(say);
    const exit = await ports.k3s.saveSnapshot(of.name, lines.take);
    await lines.written();
    const how = judgeSave(exit);
    last = describeSave(exit);
    await say(last);
    const found = await lookFor(
      tools,
      "the snapshot to show",
      LOOK_MS[how],
      () => anywhere(tools, of),
    );
    if (found !== null) return { kind: "done", evidence: `there is ${found}` };
    if (how !== "busy") break;
    await say("k3s takes another snapshot at the moment: trying again when that is done");
  }
  return { kind: "failed", code: "not_saved", message: `there is no snapshot ${of.name}: ${last}` };
}

/** Where a snapshot of the name is, for people; null where there is none. */
async function anywhere<P>(tools: StepTools<P>, of: SnapshotOf): Promise<string | null> {
  const directory = await snapshotDirectory(tools.ports);
  const [local] = await findLocal(tools.ports, directory, of);
  if (local !== undefined) return `${directory}/${local.file}, ${local.size} bytes`;
  const bucket = await inBucket(tools, of, []);
  const uploaded = bucket?.ok === true ? bucket.value[0] : undefined;
  return uploaded === undefined ? null : `${uploaded.file} in the bucket, ${uploaded.size} bytes`;
}
