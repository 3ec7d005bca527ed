import * as z from "zod";
import { apiIsUp } from "./api_is_up.ts";
import { defineOperation } from "./definition.ts";
import { confirmSnapshot } from "./snapshots/confirm_snapshot.ts";
import { notedSnapshots, ownSnapshots } from "./snapshots/own_snapshots.ts";
import { SnapshotName } from "./snapshots/snapshot_name.ts";
import { ok } from "../result.ts";
import { takeSnapshot } from "./snapshots/take_snapshot.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({ name: SnapshotName.optional() })
  .transform(({ name }) => ({ name: name ?? null }));

/**
 * Takes a snapshot of the cluster's database and proves that it is in the bucket, by looking into the
 * bucket. Without a bucket in the cluster's settings it stays on the node, and is proven there.
 */
export const snapshotSave = defineOperation({
  kind: "snapshot.save",
  params: Params,
  needsApi: true,
  steps: {
    save: {
      timeoutMs: TIMEOUT_MS.snapshotSave,
      async run(tools) {
        // k3s is asked for one; where it does not answer, it says why itself.
        await apiIsUp(tools);
        const { id, params } = tools;
        const own = params.name === null
          ? ok(await notedSnapshots(tools, ownName(id)))
          : await ownSnapshots(tools, params.name);
        if (!own.ok) return { kind: "failed", code: "not_saved", message: own.error };
        return await takeSnapshot(tools, own.value);
      },
    },
    confirm_s3: {
      timeoutMs: TIMEOUT_MS.snapshotConfirm,
      async run(tools) {
        const name = tools.params.name ?? ownName(tools.id);
        return await confirmSnapshot(tools, await notedSnapshots(tools, name));
      },
    },
    report: {
      timeoutMs: TIMEOUT_MS.local,
      run({ handed }) {
        const { file, size, location } = handed;
        const where = location === "s3" ? "in the bucket" : "on the node";
        return Promise.resolve({ kind: "done", evidence: `${file}, ${size} bytes, is ${where}` });
      },
    },
  },
  output: ({ name, file, size, sha256, location, created_at }) => ({
    name: name ?? null,
    file: file ?? null,
    size: size ?? null,
    sha256: sha256 ?? null,
    location: location ?? null,
    created_at: created_at ?? null,
  }),
});

/** The name where none is given: nobody else uses it, so whatever carries it is this operation's. */
function ownName(id: string): string {
  return `pbx-${id}`;
}
