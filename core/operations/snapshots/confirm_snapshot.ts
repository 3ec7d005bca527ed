import type { StepEnd, StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { findLocal, findResources, inBucket, snapshotDirectory } from "./find_snapshots.ts";
import { type FoundSnapshot, judgeUpload, type Upload } from "./judge_upload.ts";
import { noteSnapshot } from "./note_snapshot.ts";
import type { SnapshotOf } from "./snapshot_name.ts";
import type { SnapshotResource } from "./snapshot_resource.ts";

/** Largest snapshot that is taken for one, bytes: etcd itself advises against more than 8 GB. */
const MAX_BYTES = 16 * 1024 ** 3;
/** How long to look for a snapshot that stays on the node, milliseconds. */
const LOOK_MS = 60_000;

/**
 * Proves that the snapshot is in the bucket, or without one on the node. Hands on `name`, `file`, `size`,
 * `location`, `created_at`, and `sha256`, which goes into the record that restores compare with.
 */
export function confirmSnapshot<P>(tools: StepTools<P>, of: SnapshotOf): Promise<StepEnd> {
  return tools.node.secrets.etcd_s3 === undefined ? confirmLocal(tools, of) : confirmS3(tools, of);
}

/** Believes the bucket only, and waits as long as the upload can still be under way. */
async function confirmS3<P>(tools: StepTools<P>, of: SnapshotOf): Promise<StepEnd> {
  const { ports, say } = tools;
  const directory = await snapshotDirectory(ports);
  let local: readonly FoundSnapshot[] = [];
  let why = "";
  const end = await tools.waitFor<Exclude<Upload, { kind: "waits" }>>(
    "the bucket to show the snapshot",
    async () => {
      local = await findLocal(ports, directory, of);
      const resources = await findResources(ports, of, local);
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
  if (end?.kind === "confirmed") {
    const { snapshot, createdAt } = end;
    const isOnNode = local.some(({ file }) => file === snapshot.file);
    const sha256 = isOnNode ? await noteSnapshot(tools, snapshot) : null;
    return confirmed(of, { ...snapshot, sha256 }, "s3", createdAt);
  }
  const copy = local[0] === undefined
    ? "there is no copy on the node either"
    : `a copy is on the node, ${directory}/${local[0].file} (${local[0].size} bytes)`;
  return {
    kind: "failed",
    code: end?.code ?? "not_in_bucket",
    message: `the snapshot is not known to be in the bucket: ${end?.why ?? why}; ${copy}`,
  };
}

/**
 * Without a bucket the file on the node counts, if it is whole. Of a file in a format that the agent does
 * not know k3s's own word counts: it is ready, and has as many bytes.
 */
async function confirmLocal<P>(tools: StepTools<P>, of: SnapshotOf): Promise<StepEnd> {
  const directory = await snapshotDirectory(tools.ports);
  const found = await lookFor(
    tools,
    "the snapshot to show",
    LOOK_MS,
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
  const { value } = inspection;
  let told = await toldOf(tools, of, found);
  const isVouchedFor = () => told?.error === null && told.size === found.size;
  if (!value.whole && value.isOther === true) {
    await lookFor(tools, "k3s to tell of the snapshot", LOOK_MS, async () => {
      told = await toldOf(tools, of, found);
      return told === undefined ? null : true;
    });
  }
  if (!value.whole && !(value.isOther === true && isVouchedFor())) {
    const message = `${path} is no whole snapshot: ${value.why}`;
    return { kind: "failed", code: "not_whole", message };
  }
  const size = value.whole ? value.facts.size : found.size;
  const sha256 = await noteSnapshot(tools, { file: found.file, size });
  return confirmed(of, { ...found, size, sha256 }, "local", told?.createdAt ?? null);
}

/** What k3s tells of the copy on the node. */
async function toldOf<P>(
  { ports }: StepTools<P>,
  of: SnapshotOf,
  found: FoundSnapshot,
): Promise<SnapshotResource | undefined> {
  const resources = await findResources(ports, of, [found]);
  return resources.find(({ file, location }) => file === found.file && location === "local");
}

function confirmed(
  { name }: SnapshotOf,
  { file, size, sha256, namedTime }: FoundSnapshot & { readonly sha256: string | null },
  location: "s3" | "local",
  createdAt: string | null,
): StepEnd {
  const created_at = createdAt ?? new Date(namedTime * 1000).toISOString();
  const where = location === "s3" ? "the bucket" : "the node";
  return {
    kind: "done",
    handed: { name, file, size, location, created_at, sha256 },
    evidence: `${where} has ${file}, ${size} bytes, as many as k3s says`,
  };
}
