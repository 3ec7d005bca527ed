import type { S3Error, S3Object } from "../../ports/s3.ts";
import type { Bucket } from "../../ports/s3.ts";
import { fail, ok, type Result } from "../../result.ts";
import { bucketOf, folderPrefix } from "../bucket.ts";
import type { StepTools } from "../definition.ts";
import { snapshotDirectory } from "../snapshots/find_snapshots.ts";
import type { RestoreParams } from "./params.ts";

/** Where the snapshot is. */
export type Source =
  | { readonly kind: "local"; readonly path: string; readonly size: number }
  | {
    readonly kind: "s3";
    readonly bucket: Bucket;
    readonly object: S3Object;
    /** For people: bucket and key. */
    readonly name: string;
    readonly size: number;
  };

/** Finds the snapshot; the error is a finding, for people. */
export async function findSource(tools: StepTools<RestoreParams>): Promise<Result<Source, string>> {
  return tools.params.from === "local" ? await findLocal(tools) : await findInBucket(tools);
}

async function findLocal(
  { params, ports }: StepTools<RestoreParams>,
): Promise<Result<Source, string>> {
  const directory = await snapshotDirectory(ports);
  const path = `${directory}/${params.snapshot}`;
  const stat = await ports.disk.stat(path);
  if (!stat.ok) return fail(stat.error.message);
  if (stat.value?.kind === "file" && stat.value.size > 0) {
    return ok({ kind: "local", path, size: stat.value.size });
  }
  if (stat.value !== null) return fail(`${path} is empty or no file: it is no snapshot`);
  const list = await ports.disk.list(directory);
  const others = (list.ok ? list.value ?? [] : []).filter((name) => !name.startsWith("."));
  const there = others.length === 0 ? "it has none" : `it has ${others.slice(-SHOWN).join(", ")}`;
  return fail(`${directory} has no snapshot ${params.snapshot}; ${there}`);
}

/** Names of other snapshots in a finding, at most. */
const SHOWN = 10;
/** A bucket that does not answer is asked so often, with pauses. */
const TRIES = 4;
const PAUSE_MS = 10_000;

async function findInBucket(tools: StepTools<RestoreParams>): Promise<Result<Source, string>> {
  const { params, node, ports, open, say, signal } = tools;
  const settings = params.bucket ?? node.secrets.etcd_s3;
  if (settings === undefined) {
    return fail("this cluster has no bucket set, and the operation names none");
  }
  const bucket = bucketOf(settings, open);
  const key = folderPrefix(settings.folder) + params.snapshot;
  const name = `${key} in bucket ${settings.bucket}`;
  let error: S3Error | null = null;
  for (let tries = 1; tries <= TRIES && !signal.aborted; tries++) {
    const head = await ports.s3.head(bucket, key, { signal });
    if (head.ok && head.value === null) {
      return fail(`bucket ${settings.bucket} has no object ${key}: see its name and folder`);
    }
    if (head.ok && head.value?.size === 0) return fail(`${name} is empty: it is no snapshot`);
    if (head.ok && head.value !== null) {
      return ok({ kind: "s3", bucket, object: head.value, name, size: head.value.size });
    }
    if (!head.ok) error = head.error;
    if (error?.code !== "unreachable") break;
    await say(error.message);
    if (tries < TRIES) await ports.clock.sleep(PAUSE_MS, signal);
  }
  return fail(`the bucket cannot be asked for ${key}: ${error?.message ?? "no time is left"}`);
}
