import * as z from "zod";
import { CONDITION_CODES } from "./conditions.ts";
import { Arch } from "./enroll.ts";
import { DnsLabel, ReleaseVersion, Rfc3339, ServerId, Sha256Hex } from "./identifiers.ts";
import { Operation } from "./operation.ts";

const Bytes = z.int().min(0);

/** A fact that hinders the agent; one per code, until its cause is gone. */
export const Condition = z.object({
  code: z.enum(CONDITION_CODES),
  message: z.string(),
  since: Rfc3339,
});
export type Condition = z.infer<typeof Condition>;

/** One add-on's state. */
export const AddonReport = z.object({
  name: DnsLabel,
  state: z.enum(["applied", "pending", "failed", "removed"]),
  message: z.string().optional(),
});
export type AddonReport = z.infer<typeof AddonReport>;

/** State of the k3s unit, as systemd tells it. */
export const UnitStateReport = z.enum(["active", "inactive", "failed", "activating", "unknown"]);

/** Whether an agent takes what is not proven. */
const TrustLevel = z.enum(["required", "off"]);

/** Body of `POST /sync` (protocol §4): what this node and its agent are like now. */
export const SyncRequest = z.object({
  protocol: z.literal(1),
  agent: z.object({
    version: ReleaseVersion,
    sha256: Sha256Hex,
    arch: Arch,
    started_at: Rfc3339,
    keys_created_at: Rfc3339,
    rolled_back: z.object({
      from: ReleaseVersion,
      to: ReleaseVersion,
      at: Rfc3339,
      reason: z.string(),
    }).optional(),
  }),
  node: z.object({
    name: DnsLabel,
    server_id: ServerId,
    boot_id: z.string(),
    uptime_s: z.number().min(0),
    os: z.string(),
    kernel: z.string(),
    boot_entry: z.string().nullable(),
    boot_image_sha256: Sha256Hex.nullable(),
    k3s: z.object({ version: z.string().nullable(), unit: UnitStateReport }),
    api: z.enum(["up", "down"]),
    ready: z.boolean().nullable(),
    leader: z.boolean(),
    disk_free_bytes: Bytes,
    memory_available_bytes: Bytes,
    /** Which powers are proven (trust.md): by the boxes' positions, signed answers, and approvals. */
    trust: z.object({ boxes: TrustLevel, answers: TrustLevel, approvals: TrustLevel }).optional(),
  }),
  desired: z.object({ revision: z.int().min(0).nullable(), tag: z.string().nullable() }),
  pending: z.object({ k3s_restart: z.boolean(), reason: z.string().optional() }),
  addons: z.array(AddonReport),
  conditions: z.array(Condition),
  operation: z.object({ id: z.string(), kind: z.string(), step: z.string() }).nullable(),
});
export type SyncRequest = z.infer<typeof SyncRequest>;

/** Names a desired state; opaque to the agent. */
export const DesiredTag = z.string().regex(
  /^[\x20-\x7e]{1,128}$/,
  "is not 1 to 128 printable ASCII characters",
);

/**
 * The envelope of an answer to `POST /sync`. `desired` is judged apart: its own faults are conditions and
 * do not hold back the operation (protocol §2). `desired_tag` counts only beside a desired state.
 */
export const SyncAnswer = z.object({
  time: Rfc3339,
  /** Every box is bound to its position (trust.md T1); counts in an answer that is proven. */
  sealing: z.literal("bound").optional(),
  desired: z.record(z.string(), z.json()).nullable(),
  operation: Operation.nullable(),
  desired_tag: z.unknown(),
}).refine(
  (answer) => answer.desired === null || DesiredTag.safeParse(answer.desired_tag).success,
  { path: ["desired_tag"], message: "is not 1 to 128 printable ASCII characters" },
);
export type SyncAnswer = z.infer<typeof SyncAnswer>;
