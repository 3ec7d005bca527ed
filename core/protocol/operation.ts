import * as z from "zod";
import { Approvals } from "./approval.ts";
import type { KnownBoxes } from "./bound_box.ts";
import { Rfc3339 } from "./identifiers.ts";
import { JsonMap } from "./json_value.ts";

/**
 * An operation as offered in a sync answer (protocol §5). `id` and `expires_at` are judged by the engine
 * (`invalid_operation`, `invalid_params`), so that their faults do not hold back the desired state.
 */
export const Operation = z.object({
  id: z.string(),
  kind: z.string(),
  params: JsonMap,
  expires_at: z.string().optional(),
  /** Signatures of the cluster's owner (trust.md T4). */
  approvals: Approvals.optional(),
});
export type Operation = z.infer<typeof Operation>;

/** An operation as it was offered. */
export interface OfferedOperation extends Operation {
  /** What in it did not stay what it was sent as, and where: it must not run (protocol §2). */
  readonly unfit?: string;
  /** The boxes in its parameters that came unbound, by their ID (trust.md T1). */
  readonly boxes?: KnownBoxes;
}

/** One event of an operation. `seq` starts at 1 and rises by 1; a number never changes its content. */
export const OperationEvent = z.object({
  seq: z.int().min(1),
  at: Rfc3339,
  step: z.string().nullable(),
  state: z.enum(["started", "progress", "succeeded", "failed"]),
  message: z.string().optional(),
  progress: z.object({
    done: z.number().min(0),
    total: z.number().min(0).nullable(),
    unit: z.enum(["bytes", "items", "seconds"]),
  }).optional(),
});
export type OperationEvent = z.infer<typeof OperationEvent>;

/** How an operation ended. */
export const OperationResult = z.object({
  state: z.enum(["succeeded", "failed", "unsupported", "refused"]),
  step: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  log_tail: z.array(z.string()).max(200).optional(),
  output: JsonMap.optional(),
});
export type OperationResult = z.infer<typeof OperationResult>;

/** Body of `POST /operations/{id}/events`. */
export const EventsRequest = z.object({
  events: z.array(OperationEvent),
  result: OperationResult.optional(),
});
export type EventsRequest = z.infer<typeof EventsRequest>;

/** Answer to it: the highest sequence number taken so far. */
export const EventsAnswer = z.object({ acked: z.int().min(0) });
export type EventsAnswer = z.infer<typeof EventsAnswer>;
