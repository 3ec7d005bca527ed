import * as z from "zod";
import { KnownBoxes } from "../protocol/bound_box.ts";
import { CONDITION_CODES } from "../protocol/conditions.ts";
import { StoredDesiredState } from "../protocol/desired_state.ts";
import { AgentId, Rfc3339 } from "../protocol/identifiers.ts";
import { Condition, DesiredTag } from "../protocol/sync.ts";
import { ClockRecord, NO_CLOCK } from "./clock_record.ts";
import { HistoryRecord } from "./history.ts";
import { Finished, Journal } from "./journal.ts";
import { FORMAT } from "./json_document.ts";
import { NO_UPDATE, UpdateRecord } from "./update_record.ts";

/** How far the first start of k3s has come (operations.md, First start, step 5). */
export const FIRST_START_STEPS = [
  "configure",
  "start",
  "wait_api",
  "write_secrets",
  "done",
] as const;

/** Where the agent can be in its life; `core/agent/life.ts` says how it gets from one to another. */
export const STAGES = [
  "unenrolled",
  "enrolling",
  "refused",
  "starting_k3s",
  "syncing",
  "revoked",
  "identity_unreadable",
  "other_server",
] as const;

/** One of them. */
export type Stage = (typeof STAGES)[number];

const Channel = z.object({
  /** Failures in a row; 0 after a success. The backoff's step is this minus one. */
  failures: z.int().min(0),
  /** Corrected time until which the portal asked to be left alone (429), RFC 3339. */
  retry_after_until: Rfc3339.nullable(),
  /** Corrected time of the next attempt after trouble, RFC 3339; null where a start makes one at once. */
  next_at: Rfc3339.nullable().default(null),
});
/** What is known about trouble with one kind of request (protocol §1). */
export type Channel = z.infer<typeof Channel>;

/**
 * The kinds of requests that back off apart from one another. The enrollment shares `sync`; asking for its
 * answer again, beside the syncs of an agent that is enrolled, does not.
 */
export const CHANNELS = ["sync", "events", "manifests", "rotation", "enrollment"] as const;
/** The name of one of them. */
export type ChannelName = (typeof CHANNELS)[number];

/** Further than any portal may set the clock; within them every time has a year of four digits. */
const OFFSETS_MS = { min: -50_000_000_000_000, max: 250_000_000_000_000 } as const;

const QUIET: Channel = { failures: 0, retry_after_until: null, next_at: null };

/** The form of state.json (operations.md, Files). Secrets inside stay sealed. */
export const StateDocument = z.object({
  format: z.literal(FORMAT),
  /** Whose state it is; null before the enrollment, and in a file of a version that did not say it. */
  agent: AgentId.nullable().default(null),
  /** The stage that the agent was last in, for `status`; null before its first start. */
  stage: z.enum(STAGES).nullable(),
  /** Portal time minus local time, milliseconds, as far as known: what carries the time over a boot. */
  clock_offset_ms: z.int().min(OFFSETS_MS.min).max(OFFSETS_MS.max),
  /** Time on the monotonic clock; a file of a version that kept none has none. */
  clock: ClockRecord.default(NO_CLOCK),
  channels: z.object({
    sync: Channel,
    events: Channel,
    manifests: Channel,
    rotation: Channel.default(QUIET),
    enrollment: Channel.default(QUIET),
  }),
  /** The identity was refused with 401. */
  revoked: z.boolean(),
  enrollment: z.object({
    /** Hex SHA-256 of the token that the count is about. */
    token_sha256: z.string(),
    /** How often the portal refused it with 401. */
    refused: z.int().min(0),
  }).nullable(),
  /** Why the agent idles, or why the portal could not be used last time; for `status`. */
  trouble: z.object({ code: z.string(), message: z.string(), since: Rfc3339 }).nullable(),
  first_start: z.enum(FIRST_START_STEPS),
  /** UID of kube-system, which names the cluster's database through restores. */
  kube_system_uid: z.string().nullable(),
  /** UID of kube-system in the API, where it was last seen to be another cluster's. */
  other_cluster: z.string().nullable().default(null),
  /** Boot ID that the agent last ran under. */
  boot_id: z.string().nullable(),
  desired: z.object({
    tag: DesiredTag,
    state: StoredDesiredState,
    /** The boxes that came unbound, by their ID: the stored ones are bound. */
    boxes: KnownBoxes.optional(),
  }).nullable(),
  /** Hex SHA-256 by path of the drop-ins that k3s was last started with; null when not known. */
  k3s_drop_ins: z.record(z.string(), z.string()).nullable(),
  /** Own updates; a file of a version that had none is one without any. */
  update: UpdateRecord.default(NO_UPDATE),
  /** A code that only a newer version knows is left out: it raises the condition again if it comes back. */
  conditions: z.preprocess(knownOnly, z.array(Condition)),
  /** The operation that runs, or whose report is not done yet. */
  operation: Journal.nullable(),
  /** Results of the last 30 days, by operation ID. */
  finished: z.record(z.string(), Finished),
  /** The last entries of history.jsonl; absent before the first. */
  history: HistoryRecord.optional(),
});
/** The conditions whose codes this version knows; anything else as it is, for the schema to judge. */
function knownOnly(conditions: unknown): unknown {
  if (!Array.isArray(conditions)) return conditions;
  const known: readonly unknown[] = CONDITION_CODES;
  return conditions.filter((one) => typeof one?.code !== "string" || known.includes(one.code));
}

/** What state.json holds. */
export type State = Omit<z.infer<typeof StateDocument>, "format">;

/** The state of an agent that has not done anything yet. */
export const EMPTY_STATE: State = {
  agent: null,
  stage: null,
  clock_offset_ms: 0,
  clock: NO_CLOCK,
  channels: { sync: QUIET, events: QUIET, manifests: QUIET, rotation: QUIET, enrollment: QUIET },
  revoked: false,
  enrollment: null,
  trouble: null,
  first_start: "configure",
  kube_system_uid: null,
  other_cluster: null,
  boot_id: null,
  desired: null,
  k3s_drop_ins: null,
  update: NO_UPDATE,
  conditions: [],
  operation: null,
  finished: {},
};
