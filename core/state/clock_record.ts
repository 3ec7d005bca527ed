import * as z from "zod";
import { Rfc3339 } from "../protocol/identifiers.ts";

/** What carries the corrected time over a restart of the agent within a boot. */
export const ClockAnchor = z.object({
  /** The corrected time at the moment that the rest is about: what the portal's clock showed. */
  portal: Rfc3339,
  /** What the node's wall clock showed. */
  wall: Rfc3339,
  boot_id: z.string(),
  /** Whole seconds since the boot. */
  uptime_s: z.int().min(0),
});
/** One of them. */
export type ClockAnchor = z.infer<typeof ClockAnchor>;

/** What state.json holds about time beside the offset. */
export const ClockRecord = z.object({
  /** For how long this agent has run in all, by its monotonic clock, milliseconds. Never too much. */
  lived_ms: z.int().min(0),
  /** Null before the first answer that was certain. */
  anchor: ClockAnchor.nullable(),
  /** The stored offset contradicts what was certain before, and was not confirmed when it was stored. */
  offset_in_doubt: z.boolean().optional(),
});
/** The record. */
export type ClockRecord = z.infer<typeof ClockRecord>;

/** The record of an agent that has not run yet, and of a version that kept none. */
export const NO_CLOCK: ClockRecord = { lived_ms: 0, anchor: null };
