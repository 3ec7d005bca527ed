import { hashOf } from "../../../core/protocol/first_config.ts";
import type { S3Gateway } from "../../lab/s3_gateway.ts";

/** Values that the test looks for later, and that no log may ever show. */
export const SECRETS = {
  hcloud: "lab-hcloud-token-5e1f",
  k3s: "lab-k3s-token-93ac",
  registry: "lab-registry: password #27b8",
};

/** The lab's k3s has nobody to run what it packages: loading it would only take time. */
const PACKAGED = ["coredns", "local-storage", "metrics-server", "servicelb"];

/** A manifest that shows in the API that k3s deployed what the portal sent. */
const MARKER = `apiVersion: v1
kind: ConfigMap
metadata:
  name: lab-first-start
  namespace: kube-system
data:
  made-by: first-start manifest
`;

/** What the release signs of it. */
export const FIRST_START = { "lab-first-start": { sha256: hashOf(MARKER) } };

/** Secrets of the cluster as the portal is told them. */
function clusterSecrets(s3: S3Gateway) {
  return {
    hcloud: { token: { plain: SECRETS.hcloud }, network: "lab-network" },
    etcd_s3: {
      endpoint: s3.endpoint,
      endpoint_ca: s3.authority,
      bucket: s3.bucket,
      region: s3.region,
      folder: "lab",
      bucket_lookup: "path",
      access_key: { plain: s3.accessKey },
      secret_key: { plain: s3.secretKey },
    },
  };
}

/** What the enrollment is answered: a merge patch over the portal's own. */
export function bootstrapPatch(s3: S3Gateway) {
  return {
    bootstrap: {
      k3s: { config: { disable: PACKAGED }, token: { plain: SECRETS.k3s } },
      secrets: clusterSecrets(s3),
      manifests: [{ name: "lab-first-start", content: MARKER }],
    },
  };
}

/** What the node shall be: a merge patch over the portal's own. k3s may restart at any time. */
export function desiredPatch(s3: S3Gateway) {
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  return {
    host: {
      snapshots: { schedule: "17 3 * * *", retention: 7, compress: true },
      ingress: "none",
      registries: {
        mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
        configs: {
          "mirror.example.com": { username: "lab", password: { plain: SECRETS.registry } },
        },
      },
    },
    maintenance: { timezone: "Etc/UTC", windows: [{ days, start: "00:00", minutes: 1440 }] },
    secrets: clusterSecrets(s3),
  };
}
