import * as z from "zod";

const Share = z.number().min(0).max(1);
/** How often per node and hour; the moments are drawn by chance. */
const Hourly = z.number().min(0).max(3_600);
const Ms = z.number().min(0).max(600_000);

/** What may be asked of a node, and how often per node and hour. */
const Operations = z.strictObject({
  "snapshot.save": Hourly.default(0),
  "cluster.restore": Hourly.default(0),
  "access.issue": Hourly.default(0),
  "access.revoke": Hourly.default(0),
  "agent.rotate_key": Hourly.default(0),
  "s3.verify": Hourly.default(0),
  "diag.collect": Hourly.default(0),
});

/** One-way delay of a link. */
const Delay = z.strictObject({
  /** Half of all messages need less, milliseconds. */
  median: Ms,
  /** One in a hundred needs more, milliseconds. */
  p99: Ms,
});

/**
 * How a simulated fleet lives, in real time and in virtual time alike. Rates are per node and hour, shares
 * from 0 to 1; what is left out does not happen. `docs/simulate.md` says what each is good for.
 */
export const Profile = z.strictObject({
  nodes: z.strictObject({
    /** Nodes whose faults come `flaky_factor` times as often. */
    flaky: Share.default(0),
    flaky_factor: z.number().min(1).max(1_000).default(10),
    /** Nodes on a link of `slow_delay`. */
    slow: Share.default(0),
    /** Nodes whose clock is off from the beginning, by up to `skew_s` either way. */
    skewed: Share.default(0),
    skew_s: z.number().min(0).max(864_000).default(0),
  }).prefault({}),
  network: z.strictObject({
    delay: Delay.default({ median: 20, p99: 200 }),
    slow_delay: Delay.default({ median: 400, p99: 5_000 }),
    /** Of all requests: lost on their way, so that the portal never sees them. */
    lost_requests: Share.default(0),
    /** Of all requests: the portal acts, and its answer is lost. */
    lost_answers: Share.default(0),
    /** Of all requests: the portal gets them twice, the second time a moment later. */
    duplicates: Share.default(0),
    /** A node is cut off, for up to `partition_minutes`. */
    partitions: Hourly.default(0),
    partition_minutes: z.number().min(0).max(1_440).default(10),
  }).prefault({}),
  portal: z.strictObject({
    /** Of all requests: answered 503, 429 with `Retry-After`, or with something that is no answer. */
    errors_503: Share.default(0),
    errors_429: Share.default(0),
    garbled: Share.default(0),
    /** Requests a second that it takes before it answers 429; null: any number. */
    capacity: z.number().min(1).nullable().default(null),
    /**
     * It signs its answers, and agents take no others. In virtual time; agents of a fleet get the key of a
     * real portal by `--portal-key`.
     */
    signed: z.boolean().default(false),
    /**
     * Its clock steps, by seconds to decades either way: for one answer, until an operation ends, or for
     * minutes. In virtual time only.
     */
    clock_steps: Hourly.default(0),
    /** When it is away for everybody: from `at` (share of the run) on, for so many minutes. */
    outages: z.array(z.strictObject({ at: Share, minutes: z.number().min(0).max(1_440) }))
      .default([]),
  }).prefault({}),
  faults: z.strictObject({
    /** The agent is killed, at whatever it does. */
    kills: Hourly.default(0),
    /** The machine loses its power, at whatever the agent does. */
    power_cuts: Hourly.default(0),
    /** Of all resets of a database: the machine loses its power in the middle. */
    cut_resets: Share.default(0),
    /** An administrator reboots it. */
    reboots: Hourly.default(0),
    /** Somebody sets its clock, by up to `clock_jump_s` either way. */
    clock_jumps: Hourly.default(0),
    clock_jump_s: z.number().min(0).max(86_400).default(600),
    /**
     * Its clock steps, by seconds to decades either way, at any moment or exactly at a call of a port, with
     * and without a restart of the agent or of the machine; often it is set right later. In virtual time
     * only.
     */
    clock_steps: Hourly.default(0),
    /** Its state.json is destroyed, often with a step of its clock. In virtual time only. */
    states_lost: Hourly.default(0),
    /** Its disk is full for up to ten minutes. */
    disk_full: Hourly.default(0),
    /** One call of its disk fails, for want of room or for no reason. */
    disk_errors: Hourly.default(0),
    /** Its Kubernetes API is down, silent or overloaded for up to ten minutes. */
    api_down: Hourly.default(0),
    /** Its bucket does not answer for up to ten minutes. */
    bucket_away: Hourly.default(0),
    /** The share of the run after which none of these happens any more, nor any of the network's. */
    until: Share.default(0.8),
  }).prefault({}),
  work: z.strictObject({
    operations: Operations.prefault({}),
    /** Of all snapshots: asked for under a name that others have had before. In virtual time only. */
    given_names: Share.default(0),
    /** An operation that has its result is offered again. In virtual time only. */
    offered_again: Hourly.default(0),
    /**
     * The maintenance windows change, to some that are shut now, and with them what needs a restart of k3s.
     * In virtual time only.
     */
    windows: Hourly.default(0),
    /** The cluster's desired state changes. */
    changes: Hourly.default(0),
    /** Of those changes: one that the agent has to refuse. */
    bad_changes: Share.default(0),
    /** Its identity is revoked, and taken back into grace later. */
    revocations: Hourly.default(0),
    /** Another version of the agent is wanted. */
    updates: Hourly.default(0),
    /** Of those versions: one that does not run and has to be taken back. */
    bad_updates: Share.default(0),
  }).prefault({}),
});
/** A profile, whole. */
export type Profile = z.infer<typeof Profile>;
