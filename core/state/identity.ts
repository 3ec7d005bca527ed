import * as z from "zod";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { Random } from "../ports/random.ts";
import { decodeBase64, encodeBase64 } from "../protocol/base64.ts";
import {
  AgentId,
  DnsLabel,
  ReleaseVersion,
  Rfc3339,
  ServerId,
  Sha256Hex,
} from "../protocol/identifiers.ts";
import type { Result } from "../result.ts";
import { Secret } from "../secret.ts";
import type { Found } from "./durable.ts";
import { EffectiveS3Target } from "../protocol/approved_changes.ts";
import { ShownRegistries } from "../protocol/registries.ts";
import { readDocument, writeDocument } from "./durable.ts";
import { FORMAT, jsonBytes, jsonParser } from "./json_document.ts";
import { IDENTITY_FILE } from "./paths.ts";
import { PortalBase } from "./portal_url.ts";

const Key32 = z.string().transform((text, context) => {
  const bytes = decodeBase64(text);
  if (bytes?.length === 32) return new Secret<Uint8Array>(bytes);
  context.addIssue({ code: "custom", message: "is not the base64 of 32 bytes" });
  return z.NEVER;
});

const KeyPairs = z.object({
  created_at: Rfc3339,
  /** Seed of the Ed25519 key. */
  signing: Key32,
  /** X25519 secret key. */
  sealing: Key32,
});
/** The agent's private keys: one to sign with, one that secrets are sealed to. */
export type KeyPairs = z.infer<typeof KeyPairs>;

const Binding = z.object({
  agent_id: AgentId,
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  server_id: ServerId,
  /** Base URL of the portal that enrolled it: still known where the configuration is refused. */
  portal: PortalBase,
});
/** What the agent became at its enrollment. It never changes afterwards. */
export type Binding = z.infer<typeof Binding>;

const UsedApproval = z.object({
  use: z.enum(["operation", "change"]),
  /** The operation's ID, or what a change changes to, as canonical JSON. */
  for: z.string(),
  expires: Rfc3339,
  /** For how long the agent had run in all by then, milliseconds; left out by a version that did not count it. */
  lived_ms: z.int().min(0).optional(),
  /** What it was used for has begun: after a crash before that, the same use goes on. */
  done: z.literal(true).optional(),
});
/** An approval that was used. */
export type UsedApproval = z.infer<typeof UsedApproval>;

/** The form of identity.json. */
export const IdentityDocument = z.object({
  format: z.literal(FORMAT),
  binding: Binding.nullable(),
  keys: KeyPairs,
  /** During a rotation, the pair that is to be registered. */
  next: KeyPairs.optional(),
  /** During a rotation, after the registration: the pair before, until a sync with the new one succeeds. */
  previous: KeyPairs.optional(),
  /** Boxes have to be bound to their position, for good: the portal has said that it binds (trust.md T1). */
  bound_boxes: z.literal(true).optional(),
  /** What is known of releases, so that no old one comes back (trust.md T5). */
  releases: z.object({
    floor: z.int().min(0),
    newest: z.object({ sequence: z.int().min(0), version: ReleaseVersion }).nullable(),
    /** The latest `created_at` of a verified release: no earlier time is believed when something is refused. */
    created_at: Rfc3339,
  }).optional(),
  /** Approvals that were used, by the SHA-256 of their text: each works once (trust.md T4). */
  used_approvals: z.record(Sha256Hex, UsedApproval).optional(),
  /** The last S3 target that was accepted; null after a removal, absent before the first. */
  s3_target: EffectiveS3Target.nullable().optional(),
  /** The last registries that were accepted, without their secrets; absent before the first. */
  registries: ShownRegistries.nullable().optional(),
  /** The highest time of a proven answer that a later proven one confirmed. */
  proven_time: Rfc3339.optional(),
  /** What is stored is bound: files of an earlier version have been sealed again. */
  stored_bound: z.literal(true).optional(),
});
/** identity.json: keys from the first start on, the binding once the portal has given an ID. */
export type Identity = Omit<z.infer<typeof IdentityDocument>, "format">;

/** Fresh keys, not stored yet. `createdAt`: RFC 3339. */
export function newKeys(random: Random, createdAt: string): KeyPairs {
  return {
    created_at: createdAt,
    signing: new Secret(random.bytes(32)),
    sealing: new Secret(random.bytes(32)),
  };
}

/** Reads identity.json. Unreadable is never answered with fresh keys: the caller idles. */
export function loadIdentity(disk: Disk): Promise<Result<Found<Identity>, DiskError>> {
  return readDocument(disk, IDENTITY_FILE, jsonParser(IdentityDocument));
}

/** Stores the identity durably. */
export function saveIdentity(disk: Disk, identity: Identity): Promise<Result<void, DiskError>> {
  const document = {
    format: FORMAT,
    binding: identity.binding,
    keys: plain(identity.keys),
    ...(identity.next === undefined ? {} : { next: plain(identity.next) }),
    ...(identity.previous === undefined ? {} : { previous: plain(identity.previous) }),
    ...(identity.bound_boxes === true ? { bound_boxes: true } : {}),
    ...(identity.releases === undefined ? {} : { releases: identity.releases }),
    ...(identity.used_approvals === undefined ? {} : { used_approvals: identity.used_approvals }),
    ...(identity.s3_target === undefined ? {} : { s3_target: identity.s3_target }),
    ...(identity.registries === undefined ? {} : { registries: identity.registries }),
    ...(identity.proven_time === undefined ? {} : { proven_time: identity.proven_time }),
    ...(identity.stored_bound === true ? { stored_bound: true } : {}),
  };
  return writeDocument(disk, IDENTITY_FILE, jsonBytes(document));
}

function plain(keys: KeyPairs): Record<string, string> {
  return {
    created_at: keys.created_at,
    signing: encodeBase64(keys.signing.reveal()),
    sealing: encodeBase64(keys.sealing.reveal()),
  };
}
