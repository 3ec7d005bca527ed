import * as z from "zod";
import type { JsonObject, JsonValue } from "../json.ts";
import { firingsInYear } from "./cron.ts";
import { canonicalJson } from "./jcs.ts";
import {
  hostsOf,
  isNamedHost,
  type NamedRegistries,
  type Registries,
  type ShownRegistries,
  shownRegistries,
} from "./registries.ts";
import { S3Folder } from "./s3_target.ts";

/**
 * The changes of the desired state that the owner has to approve (trust.md T4): a function from what was
 * accepted and what is offered to what is asked for.
 */
export const APPROVED_CHANGES = [
  "s3_target",
  "registries",
  "fewer_snapshots",
  "older_release",
] as const;
/** One of them. */
export type ChangeName = (typeof APPROVED_CHANGES)[number];

/** A change that needs an approval. */
export interface NeededChange {
  readonly kind: "change";
  readonly what: ChangeName;
  readonly from: JsonValue;
  readonly to: JsonValue;
}

/** Where snapshots go, without the keys, every member spelled out. */
export const EffectiveS3Target = z.object({
  endpoint: z.string(),
  bucket: z.string(),
  region: z.string(),
  folder: z.string(),
  endpoint_ca: z.string().nullable(),
  bucket_lookup: z.string(),
});
/** One of them. */
export type EffectiveS3Target = z.infer<typeof EffectiveS3Target>;

/** What settings say of their target. */
interface S3Settings {
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly folder: string;
  readonly endpoint_ca?: string | undefined;
  readonly bucket_lookup?: string | undefined;
}

/** The target of settings: the folder as k3s normalises it, null and `auto` where nothing is said. */
export function targetOf(settings: S3Settings): EffectiveS3Target {
  return {
    ...bucketLineOf(settings),
    endpoint_ca: settings.endpoint_ca ?? null,
    bucket_lookup: settings.bucket_lookup ?? "auto",
  };
}

/** The part of a target that an approval of a restore or a deletion shows. */
export function bucketLineOf({ endpoint, bucket, region, folder }: S3Settings) {
  const normal = S3Folder.safeParse(folder);
  return { endpoint, bucket, region, folder: normal.success ? normal.data : folder };
}

/** Whether two targets are the same one. */
export function isSameTarget(one: EffectiveS3Target | null, other: EffectiveS3Target | null) {
  return canonicalJson(one) === canonicalJson(other);
}

interface Snapshots {
  readonly schedule: string;
  readonly retention: number;
  readonly named_retention?: number | undefined;
}

/** What was accepted last. */
export interface AcceptedFacts {
  /** Undefined: none was ever accepted. Null: it was removed. */
  readonly s3Target: EffectiveS3Target | null | undefined;
  /** Null where no desired state was accepted. */
  readonly snapshots: Snapshots | null;
  /** Null where there are none. */
  readonly registries: ShownRegistries | null;
}

/** What is offered, as far as it may need an approval. */
export interface OfferedFacts {
  readonly secrets: { readonly etcd_s3?: S3Settings | undefined };
  readonly host: { readonly snapshots: Snapshots; readonly registries?: Registries | undefined };
}

/** What is allowed without an approval. */
export interface AllowedFacts {
  /** `s3_target` of config.yaml. */
  readonly s3Target: EffectiveS3Target | null;
  /** The registries that the offered release names: the owner need not approve credentials for them. */
  readonly registries: NamedRegistries;
}

/** The changes that need an approval; `older_release` is judged where releases are. */
export function neededChanges(
  accepted: AcceptedFacts,
  { secrets, host }: OfferedFacts,
  { s3Target: configured, registries: named }: AllowedFacts,
): readonly NeededChange[] {
  const changes: NeededChange[] = [];
  const to = secrets.etcd_s3 === undefined ? null : targetOf(secrets.etcd_s3);
  const from = accepted.s3Target ?? null;
  const isFirst = accepted.s3Target === undefined && to !== null;
  const isConfigured = isFirst && configured !== null && isSameTarget(to, configured);
  if (!isSameTarget(from, to) && !isConfigured) {
    changes.push({ kind: "change", what: "s3_target", from, to });
  }
  const registries = host.registries === undefined ? null : shownRegistries(host.registries);
  if (isOtherSource(accepted.registries ?? {}, registries ?? {}, named)) {
    changes.push({
      kind: "change",
      what: "registries",
      from: accepted.registries as JsonObject | null,
      to: registries as JsonObject | null,
    });
  }
  const { snapshots } = accepted;
  if (snapshots !== null && areFewer(snapshots, host.snapshots)) {
    changes.push({
      kind: "change",
      what: "fewer_snapshots",
      from: snapshots as unknown as JsonObject,
      to: host.snapshots as unknown as JsonObject,
    });
  }
  return changes;
}

/**
 * Whether images would come from elsewhere: another mirror, one less, or credentials for a registry that
 * is not allowed. Credentials of a registry that the release names, or that is in use, are the portal's.
 */
function isOtherSource(
  before: ShownRegistries,
  after: ShownRegistries,
  named: NamedRegistries,
): boolean {
  const mirrors = ({ mirrors = {} }: ShownRegistries) => canonicalJson(mirrors);
  if (mirrors(before) !== mirrors(after)) return true;
  const inUse = hostsOf(before);
  return Object.keys(after.configs ?? {})
    .some((host) => !inUse.includes(host) && !isNamedHost(host, named));
}

function areFewer(before: Snapshots, after: Snapshots): boolean {
  return after.retention < before.retention || isLower(before, after) ||
    (after.schedule !== before.schedule &&
      firingsInYear(after.schedule) < firingsInYear(before.schedule));
}

/** Named snapshots without a limit are all kept, so a limit that appears is a lower one. */
function isLower(before: Snapshots, after: Snapshots): boolean {
  if (after.named_retention === undefined) return false;
  return after.named_retention < (before.named_retention ?? Number.POSITIVE_INFINITY);
}
