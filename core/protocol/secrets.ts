import * as z from "zod";
import { S3Bucket, S3Endpoint, S3Folder, S3Region } from "./s3_target.ts";
import { Sealed } from "./sealed.ts";

/**
 * Where snapshots go, and the keys for it. Objects that hold a secret directly refuse unknown fields
 * (protocol §1).
 */
export const EtcdS3 = z.strictObject({
  endpoint: S3Endpoint,
  bucket: S3Bucket,
  region: S3Region,
  folder: S3Folder,
  access_key: Sealed,
  secret_key: Sealed,
  endpoint_ca: z.string().optional(),
  bucket_lookup: z.enum(["auto", "dns", "path"]).optional(),
});
export type EtcdS3 = z.infer<typeof EtcdS3>;

/**
 * The same as a file on the disk may hold it: an earlier version accepted buckets that are refused now, and
 * a node that uses one goes on.
 */
export const StoredEtcdS3 = EtcdS3.extend({
  endpoint: z.string(),
  bucket: z.string(),
  region: z.string(),
  folder: z.string(),
});

/** The Hetzner Cloud token, and the network that the cloud controller uses. */
export const Hcloud = z.strictObject({ token: Sealed, network: z.string().optional() });
export type Hcloud = z.infer<typeof Hcloud>;

/** The cluster's own secrets (protocol §3): they become `kube-system/hcloud` and `pbx-etcd-s3`. */
export const ClusterSecrets = z.object({
  hcloud: Hcloud.optional(),
  etcd_s3: EtcdS3.optional(),
});
export type ClusterSecrets = z.infer<typeof ClusterSecrets>;

/** The same in a file on the disk. */
export const StoredClusterSecrets = ClusterSecrets.extend({ etcd_s3: StoredEtcdS3.optional() });
