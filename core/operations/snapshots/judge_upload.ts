import type { S3Error } from "../../ports/s3.ts";
import type { SnapshotResource } from "./snapshot_resource.ts";

/** A copy of a snapshot that is really there. */
export interface FoundSnapshot {
  readonly file: string;
  /** Bytes. */
  readonly size: number;
  /** Seconds since the epoch, from its name: what the node's clock said. */
  readonly namedTime: number;
}

/** What is known about an upload. */
export interface UploadFacts {
  /** Snapshots of the name in the bucket, or why it could not be asked. */
  readonly bucket: readonly FoundSnapshot[] | S3Error;
  /** Those on the node's disk. */
  readonly local: readonly FoundSnapshot[];
  /** What k3s tells of snapshots of the name. */
  readonly resources: readonly SnapshotResource[];
}

/** Whether the snapshot is in the bucket. */
export type Upload =
  | {
    readonly kind: "confirmed";
    readonly snapshot: FoundSnapshot;
    readonly createdAt: string | null;
  }
  /** It may still come: why it is not there yet. */
  | { readonly kind: "waits"; readonly why: string }
  | { readonly kind: "failed"; readonly code: string; readonly why: string };

/** Errors of a bucket that may go by themselves. */
const PASSING: readonly S3Error["code"][] = ["unreachable", "clock_skew", "stopped"];

/**
 * Judges an upload by the bucket alone: the object is there, and as long as k3s says that the snapshot
 * is. Exit code and log of k3s prove nothing, nor does its own list (k3s facts C and H).
 */
export function judgeUpload({ bucket, local, resources }: UploadFacts): Upload {
  if (!Array.isArray(bucket)) return judgeError(bucket as S3Error);
  let why = "the bucket does not have it yet";
  for (const snapshot of bucket) {
    const told = resources.filter(({ file, size }) => file === snapshot.file && size !== null);
    const inBucket = told.find(({ location }) => location === "s3") ?? told[0];
    const onDisk = local.find(({ file }) => file === snapshot.file);
    const expected = inBucket?.size ?? onDisk?.size;
    if (snapshot.size === 0) why = `${snapshot.file} is empty in the bucket`;
    else if (expected === undefined) why = `k3s does not tell the size of ${snapshot.file} yet`;
    else if (expected !== snapshot.size) {
      why =
        `${snapshot.file} has ${snapshot.size} bytes in the bucket, and ${expected} by k3s's word`;
    } else {
      return { kind: "confirmed", snapshot, createdAt: inBucket?.createdAt ?? null };
    }
  }
  // k3s never tries an upload again (k3s fact H).
  const failed = resources.find(({ location, error }) => location === "s3" && error !== null);
  if (bucket.length === 0 && failed !== undefined) {
    return {
      kind: "failed",
      code: "upload_failed",
      why: `k3s could not upload it: ${failed.error}`,
    };
  }
  return { kind: "waits", why };
}

function judgeError({ code, message }: S3Error): Upload {
  if (PASSING.includes(code)) {
    return { kind: "waits", why: `the bucket cannot be asked: ${message}` };
  }
  return { kind: "failed", code, why: `the bucket cannot be asked: ${message}` };
}
