import * as z from "zod";
import { isOperationId, Rfc3339 } from "../protocol/identifiers.ts";
import { KnownBoxes } from "../protocol/bound_box.ts";
import { JsonMap } from "../protocol/json_value.ts";
import { OperationEvent, OperationResult } from "../protocol/operation.ts";

const StepRecord = z.object({
  name: z.string(),
  started_at: Rfc3339,
  ended_at: Rfc3339.nullable(),
  state: z.enum(["running", "succeeded", "failed"]),
  /** What the node shows of its success. */
  evidence: z.string().optional(),
});
/** One run of a step; one that was cut short and begun anew has several. */
export type StepRecord = z.infer<typeof StepRecord>;

/** How often a step was begun since it last ended, and what those runs brought. */
const StepRuns = z.object({
  /** Runs that were begun and have not ended. */
  begun: z.int().min(0),
  /** Those of them, the last ones in a row, that brought nothing that no run before had brought. */
  futile: z.int().min(0),
  /** The most that any of them reported as done. */
  done: z.number().min(0),
});
/** The runs of one step that have not ended. */
export type StepRuns = z.infer<typeof StepRuns>;

/** The form of the journal in state.json. */
export const Journal = z.object({
  // It names a log file.
  id: z.string().refine(isOperationId),
  kind: z.string(),
  /** As they came; secrets in them stay sealed. */
  params: JsonMap,
  /** The boxes that came unbound, by their ID: those in `params` are bound. */
  boxes: KnownBoxes.optional(),
  begun_at: Rfc3339,
  /** When the operation expires where it has not begun by then. */
  expires_at: Rfc3339.optional(),
  /** The last step that began; null before the first. Stored before the step runs. */
  step: z.string().nullable(),
  /** The last runs, and the last one of each step whatever its age. */
  steps: z.array(StepRecord),
  /** By step; absent in the journals of earlier versions, where `steps` has every run. */
  runs: z.record(z.string(), StepRuns).optional(),
  /** What the steps handed on; nothing secret. */
  handed: JsonMap,
  /** Events that the portal has not acknowledged. */
  events: z.array(OperationEvent),
  /** The last sequence number given out. */
  seq: z.int().min(0),
  result: OperationResult.optional(),
  /** The result goes alone, without log and output: the portal refused it with them three times. */
  result_alone: z.boolean().optional(),
});
/** The operation that is under way, or whose report is. */
export type Journal = z.infer<typeof Journal>;

/** The form of a finished operation in state.json. */
export const Finished = z.object({
  kind: z.string(),
  begun_at: Rfc3339,
  /** When it ended, by the corrected clock. */
  at: Rfc3339,
  /** How long the agent had lived by then; a version that counted none left it out. */
  lived_ms: z.int().min(0).optional(),
  steps: z.array(StepRecord),
  result: OperationResult,
});
/** A result that is kept so that its ID is answered and not run again. */
export type Finished = z.infer<typeof Finished>;

/** The operation that runs; null where there is none, or only the report of one is left to send. */
export function runningOperation(
  { operation }: { readonly operation: Journal | null },
): Journal | null {
  return operation?.result === undefined ? operation : null;
}
