import type { JsonObject } from "../json.ts";
import type { OperationEvent, OperationResult } from "../protocol/operation.ts";
import type { Journal, StepRecord } from "../state/journal.ts";

/**
 * The journal of the operation under way, as values: each function gives the journal after something
 * happened, with the event that tells the portal. Times are RFC 3339 by the corrected clock.
 */

/** The journal of an operation that is accepted and has not begun a step. */
export function begun(
  operation: {
    readonly id: string;
    readonly kind: string;
    readonly params: JsonObject;
    readonly expires_at?: string | undefined;
  },
  at: string,
): Journal {
  const { id, kind, params, expires_at } = operation;
  const expiry = expires_at === undefined ? {} : { expires_at };
  const nothing = { step: null, steps: [], handed: {}, events: [], seq: 0 };
  return { id, kind, params, begun_at: at, ...expiry, ...nothing };
}

/** The journal of an operation that ends before it begins. */
export function answered(
  operation: { readonly id: string; readonly kind: string },
  result: OperationResult,
  at: string,
): Journal {
  return { ...begun({ ...operation, params: {} }, at), result };
}

/** A step begins, or begins again after a crash. */
export function stepStarted(journal: Journal, step: string, at: string): Journal {
  const record: StepRecord = { name: step, started_at: at, ended_at: null, state: "running" };
  return withEvent({ ...journal, step, steps: [...journal.steps, record] }, at, {
    step,
    state: "started",
  });
}

/** A step is under way. */
export function stepProgressed(
  journal: Journal,
  progress: NonNullable<OperationEvent["progress"]>,
  at: string,
): Journal {
  return withEvent(journal, at, { step: journal.step, state: "progress", progress });
}

/** A step is done; `evidence` says by what the node shows it. */
export function stepSucceeded(
  journal: Journal,
  end: { readonly handed?: JsonObject; readonly evidence?: string },
  at: string,
): Journal {
  const { handed = {}, evidence } = end;
  const steps = endLast(journal.steps, {
    ended_at: at,
    state: "succeeded",
    ...(evidence === undefined ? {} : { evidence }),
  });
  const after = { ...journal, steps, handed: { ...journal.handed, ...handed } };
  return withEvent(after, at, { step: journal.step, state: "succeeded", message: evidence });
}

/** A step failed, and the operation with it. */
export function stepFailed(
  journal: Journal,
  failure: {
    readonly message: string;
    readonly code?: string;
    readonly output?: JsonObject;
    readonly logTail: string[];
  },
  at: string,
): Journal {
  const { message, code, output, logTail } = failure;
  const steps = endLast(journal.steps, { ended_at: at, state: "failed" });
  const after = withEvent({ ...journal, steps }, at, {
    step: journal.step,
    state: "failed",
    message,
  });
  return {
    ...after,
    result: {
      state: "failed",
      ...(journal.step === null ? {} : { step: journal.step }),
      ...(code === undefined ? {} : { code }),
      message: message.slice(0, MAX_RESULT_MESSAGE),
      log_tail: logTail,
      ...(output === undefined ? {} : { output }),
    },
  };
}

/** Every step is done. */
export function succeeded(journal: Journal, output: JsonObject): Journal {
  return { ...journal, result: { state: "succeeded", output } };
}

/** Longest message of a result: a list of findings fits, a program's whole output does not. */
const MAX_RESULT_MESSAGE = 8_000;

/** Ends the run of a step that is under way; what ended before stays as it is. */
function endLast(
  steps: readonly StepRecord[],
  change: Partial<StepRecord>,
): StepRecord[] {
  return steps.map((step, index) =>
    index === steps.length - 1 && step.state === "running" ? { ...step, ...change } : step
  );
}

/** Longest message of an event. */
const MAX_MESSAGE = 1_000;

function withEvent(
  journal: Journal,
  at: string,
  event: Pick<OperationEvent, "step" | "state"> & {
    readonly message?: string | undefined;
    readonly progress?: OperationEvent["progress"];
  },
): Journal {
  const { message, progress } = event;
  const seq = journal.seq + 1;
  const whole: OperationEvent = {
    seq,
    at,
    step: event.step,
    state: event.state,
    ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
    ...(progress === undefined ? {} : { progress }),
  };
  return { ...journal, seq, events: [...journal.events, whole] };
}
