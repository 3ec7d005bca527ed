import { Profile } from "./profile.ts";

/** The names of the profiles that need no file. */
export const PROFILE_NAMES = ["calm", "usual", "rough", "clocks"] as const;
/** One of them. */
export type ProfileName = (typeof PROFILE_NAMES)[number];

/** A profile by its name. */
export function builtInProfile(name: ProfileName): Profile {
  switch (name) {
    case "calm":
      return Profile.parse({});
    case "usual":
      return usual();
    case "rough":
      return rough();
    case "clocks":
      return clocks();
  }
}

/** A fleet as it is on most days: little goes wrong, some is asked of it, the portal is away once. */
function usual(): Profile {
  return Profile.parse({
    nodes: { flaky: 0.02, flaky_factor: 20, slow: 0.05, skewed: 0.03, skew_s: 180 },
    network: {
      lost_requests: 0.0005,
      lost_answers: 0.0005,
      duplicates: 0.0002,
      partitions: 0.01,
    },
    portal: { errors_503: 0.0005, errors_429: 0.0005, outages: [{ at: 0.4, minutes: 5 }] },
    faults: { kills: 0.01, power_cuts: 0.004, reboots: 0.01, clock_jumps: 0.005, api_down: 0.02 },
    work: {
      operations: {
        "snapshot.save": 0.05,
        "access.issue": 0.05,
        "access.revoke": 0.02,
        "agent.rotate_key": 0.02,
        "s3.verify": 0.01,
        "diag.collect": 0.005,
        "cluster.restore": 0.002,
      },
      changes: 0.1,
      bad_changes: 0.05,
      updates: 0.02,
      bad_updates: 0.1,
    },
  });
}

/** Everything goes wrong, often: for the search for faults. */
function rough(): Profile {
  return Profile.parse({
    nodes: { flaky: 0.3, flaky_factor: 4, slow: 0.3, skewed: 0.3, skew_s: 3_600 },
    network: {
      lost_requests: 0.02,
      lost_answers: 0.03,
      duplicates: 0.01,
      partitions: 0.3,
      partition_minutes: 15,
    },
    portal: {
      errors_503: 0.02,
      errors_429: 0.01,
      garbled: 0.02,
      outages: [{ at: 0.2, minutes: 12 }, { at: 0.55, minutes: 3 }],
    },
    faults: {
      kills: 2,
      power_cuts: 1,
      cut_resets: 0.3,
      reboots: 0.3,
      clock_jumps: 0.4,
      disk_full: 0.4,
      disk_errors: 1,
      api_down: 0.5,
      bucket_away: 0.3,
    },
    work: {
      operations: {
        "snapshot.save": 0.8,
        "cluster.restore": 0.4,
        "access.issue": 0.6,
        "access.revoke": 0.3,
        "agent.rotate_key": 0.8,
        "s3.verify": 0.3,
        "diag.collect": 0.3,
      },
      changes: 1,
      bad_changes: 0.3,
      revocations: 0.1,
      updates: 0.4,
      bad_updates: 0.3,
    },
  });
}

/** Clocks of nodes and portals step, all the time: for the search for what one wrong reading decides. */
function clocks(): Profile {
  return Profile.parse({
    nodes: { skewed: 0.4, skew_s: 400_000 },
    network: {
      lost_requests: 0.01,
      lost_answers: 0.01,
      partitions: 0.7,
      partition_minutes: 15,
    },
    portal: { errors_503: 0.005, clock_steps: 4 },
    faults: { kills: 1, power_cuts: 0.5, reboots: 0.5, clock_steps: 6, states_lost: 0.6 },
    work: {
      operations: {
        "snapshot.save": 4,
        "cluster.restore": 1.2,
        "access.issue": 1,
        "access.revoke": 0.5,
        "agent.rotate_key": 0.5,
        "s3.verify": 0.3,
        "diag.collect": 0.5,
      },
      given_names: 0.6,
      offered_again: 6,
      windows: 3,
      changes: 0.3,
      bad_changes: 0.1,
      updates: 1,
      bad_updates: 0.4,
    },
  });
}
