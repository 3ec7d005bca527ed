import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { Ports } from "../../ports/mod.ts";
import type { Bucket, S3Error } from "../../ports/s3.ts";
import type { Result } from "../../result.ts";
import { fail, ok } from "../../result.ts";
import { K3S_SNAPSHOT_DIRECTORY } from "../../state/paths.ts";
import { bucketOf, folderPrefix } from "../bucket.ts";
import type { StepTools } from "../definition.ts";
import type { NodeFacts } from "../node_facts.ts";
import type { FoundSnapshot } from "./judge_upload.ts";
import { listAll } from "./list_all.ts";
import { type SnapshotOf, takenAt } from "./snapshot_name.ts";
import {
  SNAPSHOT_RESOURCES,
  type SnapshotResource,
  snapshotResource,
} from "./snapshot_resource.ts";

/** The folder of k3s's local snapshots. */
export async function snapshotDirectory(ports: Ports): Promise<string> {
  const settings = await readK3sSettings(ports.disk);
  const directory = settings.ok ? settings.value.snapshotDirectory : null;
  return directory !== null && directory.startsWith("/") ? directory : K3S_SNAPSHOT_DIRECTORY;
}

/** What k3s may call this node in a snapshot's file name. */
export async function nodeNames(ports: Ports, node: NodeFacts): Promise<readonly string[]> {
  const settings = await readK3sSettings(ports.disk);
  const { hostName } = await ports.machine.facts();
  const names = [
    node.binding.node_name,
    settings.ok ? settings.value.nodeName : null,
    hostName,
  ];
  return [...new Set(names.filter((name) => name !== null && name !== ""))] as string[];
}

/** The snapshots on the node's disk, newest first. What cannot be read is not there. */
export async function findLocal(
  ports: Ports,
  directory: string,
  of: SnapshotOf,
): Promise<readonly FoundSnapshot[]> {
  const names = await ports.disk.list(directory);
  const found: FoundSnapshot[] = [];
  for (const file of names.ok ? names.value ?? [] : []) {
    const at = takenAt(file, of);
    const stat = at === null ? null : await ports.disk.stat(`${directory}/${file}`);
    if (at === null || stat === null || !stat.ok || stat.value?.kind !== "file") continue;
    found.push({ file, size: stat.value.size, takenAt: at });
  }
  return newestFirst(found);
}

/** What k3s tells of snapshots of the name; nothing while its API does not answer. */
export async function findResources(
  ports: Ports,
  of: SnapshotOf,
): Promise<readonly SnapshotResource[]> {
  const objects = await ports.k8s.list(SNAPSHOT_RESOURCES);
  return (objects.ok ? objects.value ?? [] : []).map(snapshotResource)
    .filter((resource) =>
      resource !== null && takenAt(resource.file, of) !== null
    ) as SnapshotResource[];
}

/** The snapshots in the cluster's bucket; null where none is set. */
export async function inBucket<P>(
  { node, ports, open, signal }: StepTools<P>,
  of: SnapshotOf,
  known: readonly string[],
): Promise<Result<readonly FoundSnapshot[], S3Error> | null> {
  const settings = node.secrets.etcd_s3;
  if (settings === undefined) return null;
  const place = { bucket: bucketOf(settings, open), prefix: folderPrefix(settings.folder) };
  return await findInBucket(ports, place, of, { known, signal });
}

/**
 * The snapshots in the bucket, newest first. Keys that may read but not list are asked for the files
 * that are known from elsewhere.
 */
export async function findInBucket(
  ports: Ports,
  { bucket, prefix }: { readonly bucket: Bucket; readonly prefix: string },
  of: SnapshotOf,
  { known, signal }: { readonly known: readonly string[]; readonly signal: AbortSignal },
): Promise<Result<readonly FoundSnapshot[], S3Error>> {
  const found: FoundSnapshot[] = [];
  const take = (key: string, size: number) => {
    const file = key.slice(prefix.length);
    const at = takenAt(file, of);
    if (at !== null) found.push({ file, size, takenAt: at });
  };
  const listed = await listAll(ports.s3, bucket, `${prefix}${of.name}-`, signal);
  if (!listed.ok && listed.error.code === "denied") {
    for (const file of known) {
      const object = await ports.s3.head(bucket, prefix + file, { signal });
      if (object.ok && object.value !== null) take(prefix + file, object.value.size);
    }
    return found.length === 0 ? fail(listed.error) : ok(newestFirst(found));
  }
  if (!listed.ok) return listed;
  for (const { key, size } of listed.value) take(key, size);
  return ok(newestFirst(found));
}

function newestFirst(found: readonly FoundSnapshot[]): readonly FoundSnapshot[] {
  return found.toSorted((a, b) => b.takenAt - a.takenAt);
}
