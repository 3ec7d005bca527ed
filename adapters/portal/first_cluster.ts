import { bytesToHex } from "@noble/hashes/utils.js";
import type { JsonObject } from "../../core/json.ts";
import type { Random } from "../../core/ports/random.ts";
import { FIRST_MANIFEST } from "./first_manifest.ts";
import { FIRST_AGENT, FIRST_RELEASE } from "./first_release.ts";
import type { Cluster } from "./state.ts";

/** A cluster as a customer's would be after ordering: everything set up, no server has come yet. */
export function firstCluster(id: string, random: Random): Cluster {
  const secrets = {
    hcloud: { token: secretText(random), network: `${id}-network` },
    etcd_s3: {
      endpoint: "s3.example.com",
      bucket: "pbx-snapshots",
      region: "eu-central",
      folder: id,
      access_key: secretText(random),
      secret_key: secretText(random),
    },
  };
  return {
    id,
    nodes: new Map(),
    expectedImageSha256: null,
    bootstrap: {
      release: FIRST_RELEASE,
      k3s: { config: K3S_CONFIG, token: secretText(random) },
      secrets,
      manifests: [FIRST_MANIFEST],
    },
    desired: {
      document: {
        revision: 1,
        release: FIRST_RELEASE,
        agent: { version: FIRST_AGENT },
        servers: 1,
        host: {
          snapshots: { schedule: "0 */6 * * *", retention: 28, compress: true },
          ingress: "traefik",
        },
        maintenance: {
          timezone: "Europe/Berlin",
          windows: [
            { days: ["tue", "thu"], start: "02:00", minutes: 120 },
            { days: ["sat"], start: "23:00", minutes: 240 },
          ],
        },
        secrets,
        addons: [],
      },
      raw: false,
      tag: undefined,
    },
  };
}

/** Secret by chance, so that a leak is one and no coincidence. */
function secretText(random: Random): { plain: string } {
  return { plain: bytesToHex(random.bytes(20)) };
}

/** For a single server at Hetzner: embedded etcd, and the cloud's own controller in place of k3s's. */
const K3S_CONFIG: JsonObject = {
  "cluster-init": true,
  "secrets-encryption": true,
  "write-kubeconfig-mode": "0600",
  "disable-cloud-controller": true,
  "kubelet-arg": ["cloud-provider=external"],
  "disable": ["servicelb", "local-storage"],
  "tls-san": ["k3s.example.com"],
};
