import * as z from "zod";
import { apiIsUp } from "./api_is_up.ts";
import { defineOperation, type StepTools } from "./definition.ts";
import { confirmSnapshot } from "./snapshots/confirm_snapshot.ts";
import { nodeNames } from "./snapshots/find_snapshots.ts";
import { SnapshotName, type SnapshotOf } from "./snapshots/snapshot_name.ts";
import { takeSnapshot } from "./snapshots/take_snapshot.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({ name: SnapshotName.optional() })
  .transform(({ name }) => ({ name: name ?? null }));
type Params = z.infer<typeof Params>;

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
        return await takeSnapshot(tools, await snapshotOf(tools));
      },
    },
    confirm_s3: {
      timeoutMs: TIMEOUT_MS.snapshotConfirm,
      run: async (tools) => await confirmSnapshot(tools, await snapshotOf(tools)),
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
  output: ({ name, file, size, location, created_at }) => ({
    name: name ?? null,
    file: file ?? null,
    size: size ?? null,
    location: location ?? null,
    created_at: created_at ?? null,
  }),
});

/** Which snapshots are this operation's: by its id in the name, or for a given name by their time. */
async function snapshotOf(
  { id, params, ports, node, begunAt }: StepTools<Params>,
): Promise<SnapshotOf> {
  const nodes = await nodeNames(ports, node);
  if (params.name === null) return { name: `pbx-${id}`, nodes, notBefore: 0 };
  return { name: params.name, nodes, notBefore: Math.floor(begunAt / 1000) };
}
