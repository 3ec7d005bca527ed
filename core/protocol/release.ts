import * as z from "zod";
import { DnsLabel, ReleaseVersion, Rfc3339, Sha256Hex } from "./identifiers.ts";
import { isLoopbackHost } from "./loopback.ts";
import { type LimitedOption, malformedLimit } from "./option_limits.ts";
import { workOfOptions } from "./pattern/pattern.ts";

/** A file to fetch: `sha256` and `size` are of the decoded file (protocol §6). */
export const Artifact = z.object({
  url: z.string().refine(isArtifactUrl, "is neither https nor http on loopback"),
  sha256: Sha256Hex,
  size: z.int().min(1),
  encoding: z.literal("gzip").optional(),
  encoded_size: z.int().min(1).optional(),
});
export type Artifact = z.infer<typeof Artifact>;

/** By architecture; a release may have artifacts of others, which are nothing to this agent. */
const Artifacts = z.object({ amd64: Artifact.optional(), arm64: Artifact.optional() });
const Workload = z.object({ namespace: z.string(), name: z.string() });

/** How an applied add-on shows that it works. */
export const HealthCheck = z.union([
  z.object({ deployment: Workload }),
  z.object({ daemonset: Workload }),
  z.object({ helmchart: z.object({ name: z.string() }) }),
  z.object({
    condition: z.object({
      apiVersion: z.string(),
      kind: z.string(),
      namespace: z.string().optional(),
      name: z.string(),
      type: z.string(),
    }),
  }),
]);
export type HealthCheck = z.infer<typeof HealthCheck>;

/** What an option may be, whether its value is secret, and what limits it (trust.md T3). */
export const OptionDeclaration = z.object({
  type: z.enum(["string", "number", "boolean", "array", "object"]),
  required: z.boolean().optional(),
  default: z.json().optional(),
  secret: z.boolean().optional(),
  pattern: z.string().optional(),
  enum: z.array(z.json()).min(1).optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  maxLength: z.int().min(0).optional(),
  /** The portal may set what it likes: `release sign` asks for this where the limits do not say enough. */
  unlimited: z.boolean().optional(),
}).superRefine((option, context) => {
  const fault = malformedLimit(option as LimitedOption, workOfOptions());
  if (fault === null) return;
  context.addIssue({ code: "custom", path: [fault.member], message: fault.why });
});
export type OptionDeclaration = z.infer<typeof OptionDeclaration>;

/** The template of one add-on. `objects` is a JSON-e template of a list of objects. */
export const AddonTemplate = z.object({
  requires: z.array(DnsLabel).optional(),
  conflicts: z.array(DnsLabel).optional(),
  options: z.record(z.string(), OptionDeclaration),
  objects: z.json(),
  secret_data: z.record(z.string(), z.string()).optional(),
  health: z.array(HealthCheck).optional(),
  manifest: DnsLabel.optional(),
  removal: z.enum(["delete", "platform"]).optional(),
});
export type AddonTemplate = z.infer<typeof AddonTemplate>;

/** A release, as its signed manifest describes it (protocol §6). */
export const Release = z.object({
  version: ReleaseVersion,
  created_at: Rfc3339,
  agent: z.object({ version: ReleaseVersion, artifacts: Artifacts }),
  image: z.object({ k3s_version: z.string(), artifacts: Artifacts }),
  addons: z.record(DnsLabel, AddonTemplate),
  /** The first-start manifests by name: nothing else is given to k3s with an enrollment (trust.md T3). */
  first_start: z.record(DnsLabel, z.object({ sha256: Sha256Hex })).optional(),
  k3s: z.object({
    /** By key of k3s's configuration the values that an enrollment may bring beside the list of T3. */
    config: z.record(z.string(), z.array(z.json())).optional(),
    /** Registries that the desired state may name. */
    registries: z.array(z.string()).optional(),
  }).optional(),
  /** Rises with each release; a manifest without it has 0 (trust.md T5). */
  sequence: z.int().min(0).optional(),
  /** Nothing with a lower sequence is taken any more, once this release was verified. */
  minimum: z.object({ sequence: z.int().min(0) }).optional(),
  /** The release is not newly accepted after it; what runs stays. */
  expires_at: Rfc3339.optional(),
});
export type Release = z.infer<typeof Release>;

function isArtifactUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname));
}

/** A DSSE envelope (protocol §6). Other members are ignored: only what is signed counts. */
export const Envelope = z.object({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.object({ keyid: z.string().optional(), sig: z.string() })),
});
export type Envelope = z.infer<typeof Envelope>;
