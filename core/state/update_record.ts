import * as z from "zod";
import { ReleaseVersion, Rfc3339 } from "../protocol/identifiers.ts";

/**
 * How far an update has come. `trial`: the new program has been put in place and has until the deadline
 * to sync.
 */
export const UPDATE_STEPS = ["fetch", "run", "arm", "trial"] as const;
/** One of them. */
export type UpdateStep = (typeof UPDATE_STEPS)[number];

/**
 * Why a version is not tried again before `again_at`. `check`, `run`, `rollback`: evidence that it is
 * bad, which holds for six hours; `trouble`: something in the way, with a backoff.
 */
export const HoldReason = z.enum(["check", "run", "rollback", "trouble"]);
export type HoldReason = z.infer<typeof HoldReason>;

/** What is known of a version that could not be installed. Times by the corrected clock. */
export const Hold = z.object({
  reason: HoldReason,
  message: z.string(),
  at: Rfc3339,
  /** For how long the agent had run in all, milliseconds; left out by a version that did not count it. */
  lived_ms: z.int().min(0).optional(),
  /** When it ends as far as is known: what ends it is `core/update/holds.ts`. */
  again_at: Rfc3339,
  /** Troubles in a row. */
  failures: z.int().min(1),
});
export type Hold = z.infer<typeof Hold>;

/** A rollback as the portal hears of it: `from` failed, `to` runs again (protocol §4). */
export const RolledBack = z.object({
  from: ReleaseVersion,
  to: ReleaseVersion,
  at: Rfc3339,
  reason: z.string(),
});
export type RolledBack = z.infer<typeof RolledBack>;

/** What state.json tells of own updates. */
export const UpdateRecord = z.object({
  under_way: z.object({
    from: ReleaseVersion,
    to: ReleaseVersion,
    step: z.enum(UPDATE_STEPS),
    since: Rfc3339,
    /** By when the new version must have synced; null before the timer is armed. */
    deadline: Rfc3339.nullable(),
  }).nullable(),
  holds: z.record(z.string(), Hold),
  rolled_back: RolledBack.nullable(),
});
export type UpdateRecord = z.infer<typeof UpdateRecord>;

/** Nothing under way, nothing behind. */
export const NO_UPDATE: UpdateRecord = { under_way: null, holds: {}, rolled_back: null };
