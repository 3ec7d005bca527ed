import * as z from "zod";

/** Shown in every report; a program reads no other one. */
export const REPORT_FORMAT = 1;

/** What a request of an agent is for. `other`: no path of the protocol, such as an artifact's. */
export const ENDPOINTS = [
  "enroll",
  "sync",
  "events",
  "manifest",
  "rotate_key",
  "other",
] as const;
export type Endpoint = typeof ENDPOINTS[number];

/**
 * What an agent is doing. `waiting`: its turn in the ramp has not come. `enrolling`, `starting` (k3s for
 * the first time), `synced` (its last sync was answered 200), `failing` (it was not), `idle` (refused or
 * revoked for good), `down` (its machine or program is off, as the profile wants it), `crashed` (the
 * program ended with an error, which is a fault of the agent).
 */
export const STATES = [
  "waiting",
  "enrolling",
  "starting",
  "synced",
  "failing",
  "idle",
  "down",
  "crashed",
] as const;
export type AgentState = typeof STATES[number];

const Count = z.int().min(0);
const Milliseconds = z.number().min(0);

/** See histogram.ts. Values are microseconds, unless a member says otherwise. */
const HistogramSchema = z.strictObject({
  bits: z.int().min(1).max(16),
  count: Count,
  min: Count,
  max: Count,
  sum: Count,
  buckets: z.array(z.tuple([Count, Count])),
});

/** Figures of a histogram for readers without a program, milliseconds. */
const Summary = z.strictObject({
  p50: Milliseconds,
  p90: Milliseconds,
  p99: Milliseconds,
  p99_9: Milliseconds,
  max: Milliseconds,
  mean: Milliseconds,
});

/** What the requests of one endpoint came to. */
const EndpointFigures = z.strictObject({
  requests: Count,
  /** Answered 2xx. */
  succeeded: Count,
  /** Not answered 2xx although the profile did nothing to it; what an SLO's `errors` counts. */
  errors: Count,
  /** Not answered 2xx, or its answer thrown away, because the profile wanted it so. */
  provoked: Count,
  /**
   * From the moment the agent was to send, to the last byte of the answer. What a busy simulator or a
   * slow portal held up counts, so that nothing is omitted by coordination.
   */
  response: HistogramSchema,
  /** The same in milliseconds; null where there is none. */
  response_ms: Summary.nullable(),
  /** From the moment the request was sent, to the last byte of the answer. */
  service: HistogramSchema,
});

/** By code: the portal's own (`clock_skew`), `http_503` where it gave none, or `connect`, `tls`, `timeout`, `cut`, `too_large`. */
const ByCode = z.record(z.string(), Count);

/** A span of time; slices begin at whole multiples of `run.slice_ms` since the epoch. */
const Slice = z.strictObject({
  /** Where it begins, milliseconds since the epoch. */
  at_ms: Count,
  /** Requests that ended in it, by endpoint. */
  requests: z.partialRecord(z.enum(ENDPOINTS), Count),
  /** Of those the errors by code, and what the profile provoked. */
  errors: ByCode,
  provoked: ByCode,
  /** Response times of syncs that ended in it (coarse), microseconds. */
  sync: HistogramSchema,
  /** How many agents were in each state at its end. */
  states: z.partialRecord(z.enum(STATES), Count),
});

/** What came of the operations of one kind. */
const OperationFigures = z.strictObject({
  /** Taken up by an agent: its first event or its result was sent. */
  begun: Count,
  /** Results by their state: `succeeded`, `failed`, `unsupported`, `refused`. */
  results: z.record(z.string(), Count),
  /** From an agent's taking it up to its result, milliseconds. */
  duration_ms: HistogramSchema,
});

/** A limit that the run was held to, and what it measured. */
const Judgement = z.strictObject({
  /** As it was given: `sync.p99<500ms`. */
  limit: z.string(),
  /** In the limit's own unit: milliseconds, or percent; null where there was nothing to measure. */
  measured: z.number().nullable(),
  held: z.boolean(),
});

/** A run of simulated agents, or several shards of one that were merged. */
export const Report = z.strictObject({
  kind: z.literal("pbx-simulate-report"),
  format: z.literal(REPORT_FORMAT),
  /** `real`: by the machine's clock. `virtual`: by a simulated one. */
  mode: z.enum(["real", "virtual"]),
  program: z.strictObject({ version: z.string(), runtime: z.string() }),
  run: z.strictObject({
    /** The portal's base URL; `inside` where it ran in the same process. */
    portal: z.string(),
    /** Of the whole fleet, whatever shards are in this report. */
    agents: Count,
    seed: Count,
    /** The profile as it was used, defaults filled in. */
    profile: z.json(),
    /** Asked for, milliseconds. */
    duration_ms: Milliseconds,
    ramp_ms: Milliseconds,
    /** Times of requests before this are in the slices alone, and not in what is judged. */
    warmup_ms: Milliseconds.default(0),
    cycle_ms: Milliseconds,
    slice_ms: z.int().min(1),
    /** How many shards the fleet has, and which of them are in this report; 1 and [0] for a whole run. */
    shards: z.strictObject({ of: z.int().min(1), included: z.array(Count) }),
    /** RFC 3339; of merged reports the earliest and the latest. */
    started_at: z.string(),
    ended_at: z.string(),
    /** `duration`: it ran as long as asked. `signal`: it was told to end before. */
    ended_by: z.enum(["duration", "signal"]),
  }),
  /** Agents of this report: how many began, and in which state each was when the run ended. */
  agents: z.strictObject({
    included: Count,
    started: Count,
    enrolled: Count,
    states: z.partialRecord(z.enum(STATES), Count),
  }),
  endpoints: z.partialRecord(z.enum(ENDPOINTS), EndpointFigures),
  errors: ByCode,
  provoked: ByCode,
  operations: z.record(z.string(), OperationFigures),
  /** What the profile did to the fleet: `restart`, `power_cut`, `lost_answer`, `outage`, ... and how often. */
  happenings: z.record(z.string(), Count),
  slices: z.array(Slice),
  slo: z.array(Judgement),
  /** What the simulator itself used; of merged reports the sums, memory included. Null where not measured. */
  resources: z.strictObject({
    cpu_ms: Milliseconds,
    /** Largest resident set, bytes. */
    rss_bytes: Count,
    /** CPU time of its busiest second, in seconds: from about 1 on it held agents up itself. */
    busiest_share: z.number().min(0).default(0),
    /** How late timers of agents went off, microseconds: over some milliseconds the simulator is the bottleneck. */
    lateness: HistogramSchema,
  }).nullable(),
  /** Faults of the agent that were seen, first ones only, for people. */
  faults: z.array(z.strictObject({ agent: z.string(), message: z.string() })),
});
export type Report = z.infer<typeof Report>;

/** The parts that other files build. */
export type ReportSlice = z.infer<typeof Slice>;
export type ReportEndpoint = z.infer<typeof EndpointFigures>;
export type ReportOperation = z.infer<typeof OperationFigures>;
export type ReportSummary = z.infer<typeof Summary>;
export type ReportJudgement = z.infer<typeof Judgement>;
