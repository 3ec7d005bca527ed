import { readK3sSettings } from "../../host/k3s_settings.ts";
import type { Ports } from "../../ports/mod.ts";
import type { Bucket, S3Error, S3Object } from "../../ports/s3.ts";
import type { Result } from "../../result.ts";
import { fail, ok } from "../../result.ts";
import { K3S_SNAPSHOT_DIRECTORY } from "../../state/paths.ts";
import { bucketOf, folderPrefix } from "../bucket.ts";
import type { StepTools } from "../definition.ts";
import type { NodeFacts } from "../node_facts.ts";
import type { FoundSnapshot } from "./judge_upload.ts";
import { listAll } from "./list_all.ts";
import { namedTime, type SnapshotOf } from "./snapshot_name.ts";
import {
  SNAPSHOT_RESOURCES,
  type SnapshotResource,
  snapshotResource,
} from "./snapshot_resource.ts";
import {
  isNewInBucket,
  isNewOnNode,
  localPrint,
  mayBeToldOf,
  objectPrint,
} from "./snapshots_before.ts";

/** The folder of k3s's local snapshots. */
export async function snapshotDirectory(ports: Ports): Promise<string> {
  const settings = await readK3sSettings(ports.disk);
  const directory = settings.ok ? settings.value.snapshotDirectory : null;
  return directory !== null && directory.startsWith("/") ? directory : K3S_SNAPSHOT_DIRECTORY;
}

/** What k3s may call this node, also in a snapshot's file name: it writes names in lower case. */
export async function nodeNames(
  ports: Ports,
  node: Pick<NodeFacts, "binding">,
): Promise<readonly string[]> {
  const settings = await readK3sSettings(ports.disk);
  const { hostName } = await ports.machine.facts();
  const names = [
    node.binding.node_name,
    settings.ok ? settings.value.nodeName : null,
    hostName,
  ];
  return [...new Set(names.flatMap((name) => name ? [name, name.toLowerCase()] : []))];
}

/** The operation's snapshots on the node's disk, newest first. What cannot be read is not there. */
export async function findLocal(
  ports: Ports,
  directory: string,
  of: SnapshotOf,
): Promise<readonly FoundSnapshot[]> {
  const names = await ports.disk.list(directory);
  const found: FoundSnapshot[] = [];
  for (const file of names.ok ? names.value ?? [] : []) {
    const at = namedTime(file, of);
    const stat = at === null ? null : await ports.disk.stat(`${directory}/${file}`);
    if (at === null || stat === null || !stat.ok || stat.value?.kind !== "file") continue;
    if (!isNewOnNode(of.before, file, localPrint(stat.value))) continue;
    found.push({ file, size: stat.value.size, namedTime: at });
  }
  return newestFirst(found);
}

/**
 * What k3s tells of the operation's snapshots; nothing while its API does not answer.
 *
 * @param local those on the node's disk
 */
export async function findResources(
  ports: Ports,
  of: SnapshotOf,
  local: readonly FoundSnapshot[],
): Promise<readonly SnapshotResource[]> {
  const newOnNode = local.map(({ file }) => file);
  const told = await toldOfName(ports, of);
  return (told ?? []).filter(({ file }) => mayBeToldOf(of.before, file, newOnNode));
}

/** What k3s tells of every snapshot of the name; null while its API does not answer. */
export async function toldOfName(
  ports: Ports,
  of: Pick<SnapshotOf, "name" | "nodes">,
): Promise<readonly SnapshotResource[] | null> {
  const told = await toldOfAll(ports);
  return told?.filter(({ file }) => namedTime(file, of) !== null) ?? null;
}

/** What k3s tells of every snapshot; null while its API does not answer. */
export async function toldOfAll(ports: Ports): Promise<readonly SnapshotResource[] | null> {
  const objects = await ports.k8s.list(SNAPSHOT_RESOURCES);
  if (!objects.ok) return null;
  return (objects.value ?? []).map(snapshotResource).filter((resource) => resource !== null);
}

/**
 * The operation's snapshots in the cluster's bucket; null where none is set.
 *
 * @param known files that are its own by what the node shows
 */
export async function inBucket<P>(
  tools: StepTools<P>,
  of: SnapshotOf,
  known: readonly string[],
): Promise<Result<readonly FoundSnapshot[], S3Error> | null> {
  const place = bucketPlace(tools);
  if (place === null) return null;
  const { ports, signal } = tools;
  const objects = await objectsOfName(ports, place, of, { known, signal });
  if (!objects.ok) return objects;
  const found = objects.value.flatMap(({ file, object }) => {
    const isOwn = isNewInBucket(of.before, file, objectPrint(object), known);
    return isOwn ? [{ file, size: object.size, namedTime: namedTime(file, of) ?? 0 }] : [];
  });
  return ok(newestFirst(found));
}

/** Where in a bucket snapshots are. */
export interface BucketPlace {
  readonly bucket: Bucket;
  /** What their keys begin with. */
  readonly prefix: string;
}

/** Where the cluster's snapshots go; null where no bucket is set. */
export function bucketPlace<P>({ node, open }: StepTools<P>): BucketPlace | null {
  const settings = node.secrets.etcd_s3;
  if (settings === undefined) return null;
  return { bucket: bucketOf(settings, open), prefix: folderPrefix(settings.folder) };
}

/** An object of the bucket that carries a snapshot's name. */
export interface NamedObject {
  readonly file: string;
  readonly object: S3Object;
}

/**
 * Every object in the bucket that carries the name. Keys that may read but not list are asked for the
 * files that are known from elsewhere.
 */
export async function objectsOfName(
  ports: Ports,
  { bucket, prefix }: BucketPlace,
  of: Pick<SnapshotOf, "name" | "nodes">,
  { known, signal }: { readonly known: readonly string[]; readonly signal: AbortSignal },
): Promise<Result<readonly NamedObject[], S3Error>> {
  const found: NamedObject[] = [];
  const take = (object: S3Object) => {
    const file = object.key.slice(prefix.length);
    if (namedTime(file, of) !== null) found.push({ file, object });
  };
  const listed = await listAll(ports.s3, bucket, `${prefix}${of.name}-`, signal);
  if (!listed.ok && listed.error.code === "denied") {
    for (const file of known) {
      const object = await ports.s3.head(bucket, prefix + file, { signal });
      if (object.ok && object.value !== null) take(object.value);
    }
    return found.length === 0 ? fail(listed.error) : ok(found);
  }
  if (!listed.ok) return listed;
  for (const object of listed.value) take(object);
  return ok(found);
}

function newestFirst(found: readonly FoundSnapshot[]): readonly FoundSnapshot[] {
  return found.toSorted((a, b) => b.namedTime - a.namedTime);
}
