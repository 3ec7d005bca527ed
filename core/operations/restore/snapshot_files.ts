import type { StepTools } from "../definition.ts";
import { K3S_DATABASE_DIRECTORY, STATE_DIRECTORY } from "../../state/paths.ts";
import { fail, ok, type Result } from "../../result.ts";
import { forGood, type Refusal } from "../patiently.ts";
import type { RestoreParams } from "./params.ts";
import { findSource } from "./source.ts";
import { RECEIVED_FILE, roomBytes, stage, UNPACKED_FILE } from "./stage.ts";
import { stopped } from "./stopped.ts";

type Tools = StepTools<RestoreParams>;

/**
 * The snapshot that was put on the node while the cluster ran, looked at once more; fetched again where it
 * is not there any more. The error is for people.
 */
export async function readySnapshot(tools: Tools): Promise<Result<string, Refusal>> {
  const { ports, say, signal } = tools;
  const { staged, plain_size } = stopped(tools.handed);
  const look = { maxBytes: plain_size, signal };
  const inspection = await ports.snapshotFile.inspect(staged, look);
  if (inspection.ok && inspection.value.whole && inspection.value.facts.kind === "plain") {
    return ok(staged);
  }
  await say(`${staged} is not there as it was: getting the snapshot again`);
  const source = await findSource(tools);
  if (!source.ok) return forGood(source.error);
  const again = await stage(tools, source.value, []);
  if (!again.ok) return again;
  if (again.value.facts.plainSize !== plain_size) {
    return forGood(
      "the snapshot is another one than that which was looked at before k3s was stopped",
    );
  }
  const room = await roomBytes(ports.disk, [K3S_DATABASE_DIRECTORY, STATE_DIRECTORY]);
  if (!room.ok) return room;
  if (room.value < plain_size) {
    return fail({ message: "there is no room on the disk any more", passes: true });
  }
  return ok(again.value.path);
}

/** Frees the room of the snapshot's copies; the receipt stays. */
export async function removeSnapshotFiles({ ports, say }: Tools): Promise<void> {
  for (const path of [RECEIVED_FILE, UNPACKED_FILE]) {
    const removed = await ports.disk.remove(path);
    if (!removed.ok) await say(removed.error.message);
  }
}
