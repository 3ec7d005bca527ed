import * as z from "zod";
import { Sha256Hex } from "../../protocol/identifiers.ts";
import { Sealed } from "../../protocol/sealed.ts";
import { EtcdS3, StoredEtcdS3 } from "../../protocol/secrets.ts";
import { SnapshotFile } from "../snapshots/snapshot_name.ts";

/** What it takes to reach another bucket: all of these, or none. */
const NEEDED = ["endpoint", "bucket", "region", "folder", "access_key", "secret_key"] as const;
const OPTIONAL = ["endpoint_ca", "bucket_lookup"] as const;

/**
 * Which snapshot, from where; and where the bucket, the token or the cluster are not this node's own, what
 * they are.
 */
export const RestoreParams = restoreParams(EtcdS3);
export type RestoreParams = z.infer<typeof RestoreParams>;

/**
 * The same where the restore has begun: an earlier version accepted buckets that are refused now, and k3s
 * stays down until the restore has come to its end.
 */
export const BegunRestoreParams = restoreParams(StoredEtcdS3);

function restoreParams(bucketSchema: typeof EtcdS3 | typeof StoredEtcdS3) {
  return z.strictObject({
    snapshot: SnapshotFile,
    from: z.enum(["local", "s3"]),
    ...bucketSchema.partial().shape,
    token: Sealed.optional(),
    sha256: Sha256Hex.optional(),
    kube_system_uid: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, "is no UID").optional(),
  }).superRefine((params, context) => {
    const given = [...NEEDED, ...OPTIONAL].filter((name) => params[name] !== undefined);
    const [first] = given;
    if (first === undefined) return;
    const issue = (name: string, message: string) =>
      context.addIssue({ code: "custom", path: [name], message });
    if (params.from === "local") issue(first, "goes with from: s3 only");
    for (const name of NEEDED) {
      if (params[name] === undefined) {
        issue(name, `is missing: another bucket needs it beside ${first}`);
      }
    }
  }).transform(({ snapshot, from, token, sha256, kube_system_uid, ...bucket }) => ({
    snapshot,
    from,
    /** Null where it is the cluster's own. */
    bucket: bucket.endpoint === undefined ? null : bucketSchema.parse(bucket),
    token: token ?? null,
    /** SHA-256 of the file as k3s wrote it; null where the operation does not say. */
    sha256: sha256 ?? null,
    kubeSystemUid: kube_system_uid ?? null,
  }));
}
