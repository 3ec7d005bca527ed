/** Good documents for a given agent, to be spoiled; and the words that must never be seen anywhere. */
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { ENROLLMENT_DOCUMENTS } from "../../fixtures/source/enrollment.ts";
import {
  boundBox,
  bytesOf,
  LAB_RELEASE_KEYS,
  sealed,
  sealingPair,
} from "../../fixtures/source/material.ts";
import { envelopeOf, RELEASES } from "../../fixtures/source/releases.ts";
import { SYNC_DOCUMENTS } from "../../fixtures/source/syncing.ts";
import type { SealingKey } from "../../core/protocol/sealing.ts";
import type { SecretWords } from "./mutate.ts";

/** Public halves of the keys that sign the lab's releases. */
export const TRUSTED: readonly Uint8Array[] = LAB_RELEASE_KEYS.map((key) => key.publicKey);

/** The version that the documents want the agent to have. */
export const RELEASE = "1.4.0";

/** What the boxes hold, and the enrollment token. */
export const PLAIN: Readonly<Record<string, string>> = {
  token: "k3s-server-token-that-nobody-may-see",
  agentToken: "k3s-agent-token-that-nobody-may-see",
  hcloud: "hcloud-token-that-nobody-may-see",
  access: "S3ACCESSKEYTHATNOBODYMAYSEE",
  secret: "s3/secret+key/that/nobody/may/see",
  option: "addon-option-that-nobody-may-see",
  registry: "registry-password-that-nobody-may-see",
  registryToken: "registry-token-that-nobody-may-see",
  enrollment: "enr_tokenThatNobodyMaySee",
};

/** Secrets in clear and boxes to somebody else, for the fuzzer to put in. */
export const WORDS: SecretWords = {
  plain: Object.values(PLAIN),
  foreign: [
    sealed("foreign", "x", sealingPair("somebody else")).sealed,
    "",
    "AAAA",
    btoa("\0".repeat(48)),
    btoa("\xff".repeat(80)),
    "A".repeat(90_000),
  ],
};

/** Documents whose boxes one agent opens. */
export interface Documents {
  /** The answer to the enrollment. */
  enrollAnswer(): JsonObject;
  /** The answer to a sync with that revision. A `small` one has one box only. */
  syncAnswer(revision: number, small?: boolean): JsonObject;
  /** An operation with its secrets. */
  operation(id: string): JsonObject;
}

/** Documents for the agent with that key. Boxes are dear to make, so each is made once. */
export function documentsFor(key: SealingKey): Documents {
  const made = new Map<string, string>();

  function box(name: string, position: string): { sealed: string } {
    const label = `abuse ${name} ${position}`;
    const found = made.get(label) ?? boundBox(label, position, PLAIN[name] ?? "", key).sealed;
    made.set(label, found);
    return { sealed: found };
  }

  function registries(): JsonObject {
    return {
      mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
      configs: {
        "mirror.example.com": {
          username: "orchard",
          password: box("registry", "desired:host.registries.mirror.example.com.password"),
          identity_token: box(
            "registryToken",
            "desired:host.registries.mirror.example.com.identity_token",
          ),
        },
      },
    };
  }

  function secrets(): JsonObject {
    return {
      hcloud: { token: box("hcloud", "enroll:secrets.hcloud.token"), network: "orchard-net" },
      etcd_s3: {
        endpoint: "s3.example.com",
        bucket: "orchard",
        region: "fsn1",
        folder: "orchard",
        access_key: box("access", "enroll:secrets.etcd_s3.access_key"),
        secret_key: box("secret", "enroll:secrets.etcd_s3.secret_key"),
      },
    };
  }

  return {
    enrollAnswer: () => ({
      ...ENROLLMENT_DOCUMENTS.enroll_answer,
      release: RELEASE,
      k3s: {
        config: ENROLLMENT_DOCUMENTS.enroll_answer.k3s.config,
        token: box("token", "enroll:k3s.token"),
        agent_token: box("agentToken", "enroll:k3s.agent_token"),
      },
      secrets: secrets(),
    } as JsonObject),

    syncAnswer: (revision, small = false) => ({
      time: "2026-01-01T00:00:00Z",
      desired: {
        ...SYNC_DOCUMENTS.sync_answer.desired,
        revision,
        release: RELEASE,
        agent: { version: RELEASE },
        host: {
          snapshots: { schedule: `${revision % 60} 3 * * *`, retention: 5, compress: true },
          ingress: revision % 2 === 0 ? "traefik" : "none",
          ...(small || revision % 3 > 0 ? {} : { registries: registries() }),
        },
        maintenance: { timezone: "Europe/Berlin", windows: [] },
        secrets: small
          ? { hcloud: { token: box("hcloud", "enroll:secrets.hcloud.token") } }
          : secrets(),
        addons: small ? [] : [
          { name: "cert-manager", enabled: true, options: { email: "ops@example.com" } },
          {
            name: "external-dns",
            enabled: true,
            options: { domains: ["example.com"] },
            secret_options: {
              api_token: box("option", "desired:addons.external-dns.secret_options.api_token"),
            },
          },
        ],
      },
      operation: null,
      desired_tag: `tag-${revision}`,
    } as unknown as JsonObject),

    operation: (id) => ({
      id,
      kind: "s3.verify",
      params: {
        endpoint: "s3.example.com",
        bucket: "bkt",
        region: "r",
        folder: "f",
        access_key: box("access", `operation:${id}:params.access_key`),
        secret_key: box("secret", `operation:${id}:params.secret_key`),
      },
      expires_at: "2026-12-31T00:00:00Z",
    }),
  };
}

/** The signed manifest of {@link RELEASE}. */
export function envelope(): JsonValue {
  return JSON.parse(JSON.stringify(envelopeOf(releaseDocument())));
}

/** What is inside it. */
export function releaseDocument(): (typeof RELEASES)[number] {
  const release = RELEASES.find(({ version }) => version === RELEASE);
  if (release === undefined) throw new Error(`the fixtures have no release ${RELEASE}`);
  return release;
}

/** A seed that signs and is in no program. */
export const FOREIGN_SEED = bytesOf("a signing key of somebody else");
