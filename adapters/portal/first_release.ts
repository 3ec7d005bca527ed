import type { JsonObject } from "../../core/json.ts";
import { hashOf } from "../../core/protocol/first_config.ts";
import { FIRST_MANIFEST } from "./first_manifest.ts";
import type { StoredRelease } from "./state.ts";

/** The release that a new portal has. */
export const FIRST_RELEASE = "1.0.0";
/** The agent's version in it: that of this project, so that nothing updates itself unasked. */
export const FIRST_AGENT = "0.1.0";

/** A small release: no artifact is behind its URLs until the admin puts one there. */
export function firstRelease(): StoredRelease {
  return { payload: PAYLOAD, signedBy: ["first", "second"], tampered: false };
}

/** SHA-256 of no bytes at all: nothing that is fetched by mistake can match. */
const NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const PAYLOAD: JsonObject = {
  version: FIRST_RELEASE,
  created_at: "2026-01-01T00:00:00Z",
  agent: {
    version: FIRST_AGENT,
    artifacts: { amd64: artifact("pbx-agent-amd64"), arm64: artifact("pbx-agent-arm64") },
  },
  image: {
    k3s_version: "v1.36.3+k3s1",
    artifacts: { amd64: artifact("pbx-amd64.efi"), arm64: artifact("pbx-arm64.efi") },
  },
  k3s: { registries: ["docker.io", "mirror.example.com"] },
  first_start: { [FIRST_MANIFEST.name]: { sha256: hashOf(FIRST_MANIFEST.content) } },
  addons: {
    "hcloud-cloud-controller-manager": {
      options: { networking: { type: "boolean", default: true } },
      manifest: "hcloud-cloud-controller-manager",
      objects: [chart("https://charts.hetzner.cloud", "hcloud-cloud-controller-manager", {
        networking: { enabled: { $eval: "options.networking" } },
      })],
      health: [
        { deployment: { namespace: "kube-system", name: "hcloud-cloud-controller-manager" } },
      ],
    },
    "external-dns": {
      options: {
        domain: {
          type: "string",
          required: true,
          pattern: "^[a-z0-9-]+(?:\\.[a-z0-9-]+)*$",
          maxLength: 253,
          // Nothing is sent there: it says which records the chart may write.
          unlimited: true,
        },
        api_token: { type: "string", required: true, secret: true, maxLength: 200 },
      },
      secret_data: { token: "api_token" },
      objects: [chart("https://kubernetes-sigs.github.io/external-dns", "external-dns", {
        domainFilters: [{ $eval: "options.domain" }],
        env: [{
          name: "DNS_TOKEN",
          valueFrom: { secretKeyRef: { name: "pbx-addon-external-dns", key: "token" } },
        }],
      })],
      health: [{ helmchart: { name: "external-dns" } }],
    },
  },
};

function artifact(name: string): JsonObject {
  return { url: `{portal}/artifacts/${name}`, sha256: NOTHING, size: 1 };
}

function chart(repo: string, name: string, values: JsonObject): JsonObject {
  return {
    apiVersion: "helm.cattle.io/v1",
    kind: "HelmChart",
    metadata: { name, namespace: "kube-system" },
    spec: { repo, chart: name, targetNamespace: "kube-system", values },
  };
}
