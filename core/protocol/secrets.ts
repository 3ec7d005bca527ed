import * as z from "zod";
import { Sealed } from "./sealed.ts";

const HOST = /^(?:https?:\/\/)?(?:\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?\/?$/;

/**
 * Where snapshots go. `endpoint` is `host[:port]`, with or without a scheme. Objects that hold a secret
 * directly refuse unknown fields (protocol §1).
 */
export const EtcdS3 = z.strictObject({
  endpoint: z.string().regex(HOST, "is no host[:port]"),
  bucket: z.string().min(1),
  region: z.string(),
  folder: z.string(),
  access_key: Sealed,
  secret_key: Sealed,
  endpoint_ca: z.string().optional(),
  bucket_lookup: z.enum(["auto", "dns", "path"]).optional(),
});
export type EtcdS3 = z.infer<typeof EtcdS3>;

/** The Hetzner Cloud token, and the network that the cloud controller uses. */
export const Hcloud = z.strictObject({ token: Sealed, network: z.string().optional() });
export type Hcloud = z.infer<typeof Hcloud>;

/** The cluster's own secrets (protocol §3): they become `kube-system/hcloud` and `pbx-etcd-s3`. */
export const ClusterSecrets = z.object({
  hcloud: Hcloud.optional(),
  etcd_s3: EtcdS3.optional(),
});
export type ClusterSecrets = z.infer<typeof ClusterSecrets>;
