import type { JsonObject } from "../json.ts";
import type { KnownBoxes } from "../protocol/bound_box.ts";
import type { OperationEvent, OperationResult } from "../protocol/operation.ts";
import type { Journal, StepRecord, StepRuns } from "../state/journal.ts";

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
    /** The boxes in the parameters that came unbound. */
    readonly boxes?: KnownBoxes | undefined;
  },
  at: string,
): Journal {
  const { id, kind, params, expires_at, boxes = {} } = operation;
  const expiry = {
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(Object.keys(boxes).length === 0 ? {} : { boxes }),
  };
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

/**
 * Runs of a step that are begun and do not end, after which it is not begun again (operations.md, The
 * engine). A step ends by itself, so each of them was ended by a crash, a restart or a reboot; an update
 * and some reboots make a handful, and what has not ended after twenty ends its agent every time.
 */
export const MAX_RUNS = 20;

/** Runs that the journal keeps: enough to see how they follow each other, whatever their number. */
const KEPT_RUNS = 10;

/**
 * While so many events wait for the portal, progress and repeated runs make no more: the state file has a
 * bound. They take no number either, so that numbers still rise by one.
 */
export const MAX_WAITING = 300;

/** A step begins, or begins again after a crash. */
export function stepStarted(journal: Journal, step: string, at: string): Journal {
  const record: StepRecord = { name: step, started_at: at, ended_at: null, state: "running" };
  const { begun, futile, done } = runsOf(journal, step);
  const after = {
    ...journal,
    step,
    steps: lastRuns([...journal.steps, record]),
    runs: { ...journal.runs, [step]: { begun: begun + 1, futile: futile + 1, done } },
  };
  if (isRepeat(journal, step) && journal.events.length >= MAX_WAITING) return after;
  return withEvent(after, at, { step, state: "started" });
}

/** How often `step` was begun since it last ended. */
export function runsOf(journal: Journal, step: string): StepRuns {
  const counted = journal.runs === undefined || !Object.hasOwn(journal.runs, step)
    ? undefined
    : journal.runs[step];
  if (counted !== undefined) return counted;
  // Of a journal without counts every run is there.
  const own = journal.steps.filter(({ name }) => name === step);
  const begun = own.length - 1 - own.findLastIndex(({ state }) => state !== "running");
  return { begun, futile: begun, done: 0 };
}

/** Whether `step` has run before. */
function isRepeat(journal: Journal, step: string): boolean {
  return journal.steps.some(({ name }) => name === step);
}

/**
 * The newest runs, and the last one of every step: it is by that one that the engine knows that a
 * destructive step was begun or is done.
 */
function lastRuns(steps: readonly StepRecord[]): StepRecord[] {
  const names = new Set<string>();
  let room = KEPT_RUNS - new Set(steps.map(({ name }) => name)).size;
  return steps.toReversed().filter(({ name }) => {
    if (names.has(name)) return room-- > 0;
    names.add(name);
    return true;
  }).toReversed();
}

/** A step was begun too often and is not begun again; the operation fails. */
export function stepLooped(journal: Journal, step: string, logTail: string[], at: string): Journal {
  const message =
    `${step} was begun ${MAX_RUNS} times and has never ended: each time the agent was ` +
    "killed, restarted or rebooted during it; the log of the operation says how far it came";
  const kept = { ...journal, step, steps: lastRuns(journal.steps) };
  return stepFailed(kept, { code: "step_loop", message, logTail }, at);
}

/** A step is under way. */
export function stepProgressed(
  journal: Journal,
  progress: NonNullable<OperationEvent["progress"]>,
  at: string,
): Journal {
  const { step } = journal;
  const runs = step === null ? null : runsOf(journal, step);
  // More than any run had before it is what counts as progress: a run that repeats the one before is none.
  const after = step === null || runs === null || progress.done <= runs.done ? journal : {
    ...journal,
    runs: { ...journal.runs, [step]: { ...runs, futile: 0, done: progress.done } },
  };
  return withEvent(after, at, { step, state: "progress", progress });
}

/** A step that is under way hands something on. */
export function handedOn(journal: Journal, more: JsonObject): Journal {
  return { ...journal, handed: { ...journal.handed, ...more } };
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
  const { [journal.step ?? ""]: _ended, ...runs } = journal.runs ?? {};
  const after = { ...journal, steps, runs, handed: { ...journal.handed, ...handed } };
  const before = journal.steps.slice(0, -1).some(({ name, state }) =>
    name === journal.step && state === "succeeded"
  );
  if (before && journal.events.length >= MAX_WAITING) return after;
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
