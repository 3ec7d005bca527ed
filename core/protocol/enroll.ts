import * as z from "zod";
import { AgentId, DnsLabel, ReleaseVersion, Rfc3339, ServerId, Sha256Hex } from "./identifiers.ts";
import { Sealed } from "./sealed.ts";
import { ClusterSecrets, StoredClusterSecrets } from "./secrets.ts";

/** The processor architectures that releases are built for. */
export const Arch = z.enum(["amd64", "arm64"]);
export type Arch = z.infer<typeof Arch>;

/** Public keys, standard base64 of 32 bytes each: Ed25519 to verify, X25519 to seal to. */
export const PublicKeys = z.object({ signing: z.string(), sealing: z.string() });
export type PublicKeys = z.infer<typeof PublicKeys>;

/** Body of `POST /enroll` (protocol §3). The token is the only authentication. */
export const EnrollRequest = z.object({
  protocol: z.literal(1),
  token: z.string(),
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  server_id: ServerId,
  public_keys: PublicKeys,
  boot_image_sha256: Sha256Hex.nullable(),
  agent_version: ReleaseVersion,
  arch: Arch,
});
export type EnrollRequest = z.infer<typeof EnrollRequest>;

/** A manifest that k3s applies at its first start; becomes `pbx-<name>.yaml`. */
export const FirstStartManifest = z.object({ name: DnsLabel, content: z.string() });
export type FirstStartManifest = z.infer<typeof FirstStartManifest>;

/** Answer to `POST /enroll` (protocol §3): the identity and the node's first configuration. */
export const EnrollAnswer = z.object({
  agent_id: AgentId,
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  release: ReleaseVersion,
  /** Every box is bound to its position, from now on (trust.md T1). */
  sealing: z.literal("bound").optional(),
  k3s: z.strictObject({
    config: z.record(z.string(), z.json()),
    token: Sealed,
    agent_token: Sealed.optional(),
  }),
  secrets: ClusterSecrets,
  manifests: z.array(FirstStartManifest),
  time: Rfc3339,
});
export type EnrollAnswer = z.infer<typeof EnrollAnswer>;

/** The same in a file on the disk, which an earlier version may have written. */
export const StoredEnrollAnswer = EnrollAnswer.extend({ secrets: StoredClusterSecrets });
