import * as z from "zod";
import type { Sealed } from "../protocol/sealed.ts";
import type { Secret } from "../secret.ts";
import { bucketOf, folderPrefix } from "./bucket.ts";
import { defineOperation, type StepEnd, type StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";
import { sayLines } from "./say_lines.ts";
import {
  findInBucket,
  findLocal,
  findResources,
  nodeNames,
  snapshotDirectory,
} from "./snapshots/find_snapshots.ts";
import { type FoundSnapshot, judgeUpload, type Upload } from "./snapshots/judge_upload.ts";
import { describeSave, judgeSave } from "./snapshots/judge_save.ts";
import { SnapshotName, type SnapshotOf } from "./snapshots/snapshot_name.ts";
import { TIMEOUT_MS } from "./timeouts.ts";

const Params = z.strictObject({ name: SnapshotName.optional() })
  .transform(({ name }) => ({ name: name ?? null }));
type Params = z.infer<typeof Params>;

/** Largest snapshot that is taken for one, bytes: etcd itself advises against more than 8 GB. */
const MAX_BYTES = 16 * 1024 ** 3;

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
      run: save,
    },
    confirm_s3: {
      timeoutMs: TIMEOUT_MS.snapshotConfirm,
      run: (tools) =>
        tools.node.secrets.etcd_s3 === undefined ? confirmLocal(tools) : confirmS3(tools),
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

const SHOWN = "the snapshot to show";

/** How long to look for a snapshot after a run of k3s, by how that ended, milliseconds. */
const LOOK_MS = { saved: 60_000, timeout: 300_000, failed: 15_000, busy: 20_000 } as const;

/**
 * Has k3s take the snapshot, unless there is one of this operation already: a run that was cut short or
 * timed out may have gone on in k3s's server.
 */
async function save(tools: StepTools<Params>): Promise<StepEnd> {
  const { ports, say, signal } = tools;
  const of = await snapshotOf(tools);
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
    const found = await lookFor(tools, SHOWN, LOOK_MS[how], () => anywhere(tools, of));
    if (found !== null) return { kind: "done", evidence: `there is ${found}` };
    if (how !== "busy") break;
    await say("k3s takes another snapshot at the moment: trying again when that is done");
  }
  return { kind: "failed", code: "not_saved", message: `there is no snapshot ${of.name}: ${last}` };
}

/** Where a snapshot of the name is, for people; null where there is none. */
async function anywhere(tools: StepTools<Params>, of: SnapshotOf): Promise<string | null> {
  const directory = await snapshotDirectory(tools.ports);
  const [local] = await findLocal(tools.ports, directory, of);
  if (local !== undefined) return `${directory}/${local.file}, ${local.size} bytes`;
  const bucket = await inBucket(tools, of, []);
  const uploaded = bucket?.ok === true ? bucket.value[0] : undefined;
  return uploaded === undefined ? null : `${uploaded.file} in the bucket, ${uploaded.size} bytes`;
}

/** Believes the bucket only, and waits as long as the upload can still be under way. */
async function confirmS3(tools: StepTools<Params>): Promise<StepEnd> {
  const { ports, say } = tools;
  const of = await snapshotOf(tools);
  const directory = await snapshotDirectory(ports);
  let local: readonly FoundSnapshot[] = [];
  let why = "";
  const end = await tools.waitFor<Exclude<Upload, { kind: "waits" }>>(
    "the bucket to show the snapshot",
    async () => {
      local = await findLocal(ports, directory, of);
      const resources = await findResources(ports, of);
      const known = [...new Set([...local, ...resources].map(({ file }) => file))];
      const bucket = await inBucket(tools, of, known);
      if (bucket === null) return { kind: "failed", code: "no_bucket", why: "no bucket is set" };
      const facts = { bucket: bucket.ok ? bucket.value : bucket.error, local, resources };
      const upload = judgeUpload(facts);
      if (upload.kind !== "waits") return upload;
      if (upload.why !== why) await say(upload.why);
      why = upload.why;
      return null;
    },
    5_000,
  );
  if (end?.kind === "confirmed") return confirmed(of, end.snapshot, "s3", end.createdAt);
  const copy = local[0] === undefined
    ? "there is no copy on the node either"
    : `a copy is on the node, ${directory}/${local[0].file} (${local[0].size} bytes)`;
  return {
    kind: "failed",
    code: end?.code ?? "not_in_bucket",
    message: `the snapshot is not known to be in the bucket: ${end?.why ?? why}; ${copy}`,
  };
}

/** Without a bucket the file on the node counts, if it is whole. */
async function confirmLocal(tools: StepTools<Params>): Promise<StepEnd> {
  const of = await snapshotOf(tools);
  const directory = await snapshotDirectory(tools.ports);
  const found = await lookFor(
    tools,
    SHOWN,
    LOOK_MS.saved,
    async () => (await findLocal(tools.ports, directory, of))[0] ?? null,
  );
  if (found === null) {
    const message = `${directory} has no snapshot ${of.name}`;
    return { kind: "failed", code: "not_saved", message };
  }
  const path = `${directory}/${found.file}`;
  const look = { maxBytes: MAX_BYTES, signal: tools.signal };
  const inspection = await tools.ports.snapshotFile.inspect(path, look);
  if (!inspection.ok) return { kind: "failed", message: inspection.error.message };
  if (!inspection.value.whole) {
    const message = `${path} is no whole snapshot: ${inspection.value.why}`;
    return { kind: "failed", code: "not_whole", message };
  }
  const resources = await findResources(tools.ports, of);
  const created = resources.find(({ file }) => file === found.file)?.createdAt ?? null;
  return confirmed(of, { ...found, size: inspection.value.facts.size }, "local", created);
}

function confirmed(
  { name }: SnapshotOf,
  { file, size, takenAt }: FoundSnapshot,
  location: "s3" | "local",
  createdAt: string | null,
): StepEnd {
  const created_at = createdAt ?? new Date(takenAt * 1000).toISOString();
  const where = location === "s3" ? "the bucket" : "the node";
  return {
    kind: "done",
    handed: { name, file, size, location, created_at },
    evidence: `${where} has ${file}, ${size} bytes, as many as k3s says`,
  };
}

/** Which snapshots are this operation's: by its id in the name, or for a given name by their time. */
async function snapshotOf(
  { id, params, ports, node, begunAt }: StepTools<Params>,
): Promise<SnapshotOf> {
  const nodes = await nodeNames(ports, node);
  if (params.name === null) return { name: `pbx-${id}`, nodes, notBefore: 0 };
  return { name: params.name, nodes, notBefore: Math.floor(begunAt / 1000) };
}

async function inBucket(
  { node, ports, open, signal }: StepTools<Params>,
  of: SnapshotOf,
  known: readonly string[],
) {
  const settings = node.secrets.etcd_s3;
  if (settings === undefined) return null;
  const place = {
    bucket: bucketOf(settings, (sealed: Sealed): Secret => open(sealed)),
    prefix: folderPrefix(settings.folder),
  };
  return await findInBucket(ports, place, of, { known, signal });
}
