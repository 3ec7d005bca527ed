import type { JsonObject } from "../json.ts";
import type { Ports } from "../ports/mod.ts";
import type { DiskError } from "../ports/disk.ts";
import { printable, printableLines } from "../printable.ts";
import type { Release } from "../protocol/release.ts";
import { openSealed, type SealingKey } from "../protocol/sealing.ts";
import type { Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { Journal } from "../state/journal.ts";
import type { SnapshotRecord } from "../state/snapshot_record.ts";
import {
  type AnyDefinition,
  type DestructiveStep,
  isDestructive,
  type Probe,
  type ReleaseError,
  type Step,
  type StepEnd,
  type StepTools,
  troubleText,
} from "./definition.ts";
import {
  handedOn,
  MAX_RUNS,
  MAX_WAITING,
  runsOf,
  stepFailed,
  stepLooped,
  stepProgressed,
  stepStarted,
  stepSucceeded,
  succeeded,
} from "./journal.ts";
import { begunStep, markBegun } from "./begun_mark.ts";
import { staleWords } from "./offer.ts";
import type { NodeFacts } from "./node_facts.ts";
import { openOperationLog, type OperationLog } from "./operation_log.ts";
import { createRedactor, type Redactor } from "./redact.ts";
import type { Rotation } from "./rotation.ts";

/** What the engine works with. */
export interface EngineContext {
  readonly ports: Ports;
  readonly node: NodeFacts;
  readonly snapshots: SnapshotRecord;
  /** What opens sealed boxes now. */
  sealingKeys(): readonly SealingKey[];
  readonly rotation: Rotation;
  /** Whether this node's agent leads the cluster now. */
  leads(): boolean;
  /** The verified manifest of a release. */
  release(version: string): Promise<Result<Release, ReleaseError>>;
  /** Stores the UID that names this node's cluster. */
  rememberCluster(kubeSystemUid: string): Promise<Result<void, DiskError>>;
  /** Aborts when the program has to end: the step stays recorded, and the next start resumes it. */
  readonly stop: AbortSignal;
  /** RFC 3339 by the corrected clock. */
  timestamp(): string;
  /** The journal as it is now. */
  journal(): Journal;
  /** Changes the journal only if the change is on disk. */
  record(change: (journal: Journal) => Journal): Promise<Result<void, DiskError>>;
}

/** How a run of the engine ended. `aborted`: the program ends, and the operation resumes at its start. */
export type EngineEnd = "ended" | "aborted";

/**
 * Carries an operation from the recorded step to its end (operations.md, The engine).
 *
 * Every step is on disk before it starts. After a crash a repeatable step simply runs again; a
 * destructive one is decided by what the node shows, never by the journal alone.
 */
export async function runOperation(
  context: EngineContext,
  definition: AnyDefinition,
): Promise<EngineEnd> {
  const redactor = createRedactor();
  try {
    return await runSteps(context, definition, redactor);
  } catch (cause) {
    const message = printable(redactor.redact(faultText(cause)));
    return await failOperation(context, "internal", message);
  }
}

function faultText(cause: unknown): string {
  return `a fault of the agent: ${cause instanceof Error ? cause.message : String(cause)}`;
}

/** Ends the operation as failed outside of any step's own failure. */
export function failOperation(
  context: EngineContext,
  code: string,
  message: string,
): Promise<EngineEnd> {
  const failure = { code, message, logTail: [] };
  return persist(context, (journal) => stepFailed(journal, failure, context.timestamp()));
}

async function runSteps(
  context: EngineContext,
  definition: AnyDefinition,
  redactor: Redactor,
): Promise<EngineEnd> {
  const log = await openOperationLog(context.ports.disk, context.journal().id, redactor);
  const secrets = new Map<string, Secret>();
  const names = Object.keys(definition.steps);
  const params = (definition.begunParams ?? definition.params).safeParse(context.journal().params);
  if (!params.success) {
    return await failOperation(context, "invalid_params", staleWords(params.error));
  }

  for (let index = resumeAt(context.journal(), definition); index < names.length; index++) {
    const name = names[index] ?? "";
    const step = definition.steps[name];
    if (step === undefined) throw new Error(`operation ${definition.kind} has no step ${name}`);
    const runsBefore = context.journal().steps.filter((run) => run.name === name);
    if (context.stop.aborted) return "aborted";
    if (isDestructive(step) && runsBefore.at(-1)?.state === "succeeded") continue;
    if (runsOf(context.journal(), name).begun >= MAX_RUNS) {
      const logTail = await log.tail(LOG_TAIL_LINES);
      return await persist(
        context,
        (journal) => stepLooped(journal, name, logTail, context.timestamp()),
      );
    }
    const began = await persist(
      context,
      (journal) => stepStarted(journal, name, context.timestamp()),
    );
    if (began === "aborted") return "aborted";
    const pause = pauseMs(runsOf(context.journal(), name).futile);
    if (pause > 0) await context.ports.clock.sleep(pause, context.stop);
    if (pause > 0 && context.stop.aborted) return "aborted";
    const mayHaveBegun = isDestructive(step) && await wasNoted(context, name);
    if (isDestructive(step) && await note(context, name) === "aborted") return "aborted";
    const running = startStep(context, { log, redactor, secrets, params: params.data, step });
    const end = await running.finish(
      isDestructive(step)
        ? () => runDestructive(step, running.tools, runsBefore.length > 0 || mayHaveBegun)
        : () => step.run(running.tools),
    );
    for (const secret of secrets.values()) redactor.know(secret);
    if (context.stop.aborted && end.kind !== "done") return "aborted";
    if (end.kind === "failed") {
      await log.end(context.timestamp(), `${name} failed: ${end.message}`);
      const logTail = await log.tail(LOG_TAIL_LINES);
      const failure = {
        message: printableLines(redactor.redact(end.message)),
        ...(end.code === undefined ? {} : { code: end.code }),
        ...(end.output === undefined ? {} : { output: end.output }),
        logTail,
      };
      return await persist(context, (journal) => stepFailed(journal, failure, context.timestamp()));
    }
    const shown = end.evidence === undefined
      ? end
      : { ...end, evidence: printable(redactor.redact(end.evidence)) };
    const recorded = await persist(
      context,
      (journal) => stepSucceeded(journal, shown, context.timestamp()),
    );
    if (recorded === "aborted") return "aborted";
  }
  const output = definition.output(context.journal().handed);
  return await persist(context, (journal) => succeeded(journal, output));
}

/** Runs in a row without progress that follow each other as fast as systemd starts the agent. */
const FAST_RUNS = 3;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;

/**
 * How long a run waits, milliseconds, that is the `futile`-th in a row: what ends the agent may pass (memory,
 * say, that something else takes), and all runs together then last a quarter of an hour instead of two
 * minutes.
 */
function pauseMs(futile: number): number {
  if (futile <= FAST_RUNS) return 0;
  return Math.min(FIRST_PAUSE_MS * 2 ** (futile - FAST_RUNS - 1), LONGEST_PAUSE_MS);
}

/** Lines of the log that go into a failure (operations.md, The engine). */
const LOG_TAIL_LINES = 200;

/**
 * Where to go on: at the recorded step if it is not known to be done, else behind it; but never behind a
 * step whose secret is gone with the process that had it, as long as a step is left to use it.
 */
function resumeAt(journal: Journal, definition: AnyDefinition): number {
  const names = Object.keys(definition.steps);
  if (journal.step === null) return 0;
  const recorded = names.indexOf(journal.step);
  if (recorded < 0) throw new Error(`operation ${journal.kind} has no step ${journal.step}`);
  const done = journal.steps.at(-1)?.state === "succeeded";
  const next = done ? recorded + 1 : recorded;
  if (next >= names.length) return next;
  const makesSecret = names.findIndex((name) => definition.steps[name]?.handsSecret === true);
  return makesSecret < 0 ? next : Math.min(makesSecret, next);
}

/** A destructive step that may have begun before runs only where the node shows that it did not. */
async function runDestructive(
  step: DestructiveStep<unknown>,
  tools: StepTools<unknown>,
  again: boolean,
): Promise<StepEnd> {
  if (!again) return await step.run(tools);
  const probe: Probe = await step.probe(tools);
  switch (probe.kind) {
    case "not_begun":
      await tools.say("cut short before, and the node shows that it had not begun: it runs");
      return await step.run(tools);
    case "completed":
      await tools.say(
        `cut short before, and the node shows that it was completed: ${probe.evidence}`,
      );
      return {
        kind: "done",
        evidence: probe.evidence,
        ...(probe.handed === undefined ? {} : { handed: probe.handed }),
      };
    case "unclear":
      return {
        kind: "failed",
        code: "unclear",
        message: `it was cut short and is not run again by itself: ${probe.message}`,
      };
  }
}

/** Shortest time between two progress events, and between two words about what is waited for. */
const PROGRESS_MS = 10_000;
const SAY_MS = 60_000;

/** How long to wait until what is committed elsewhere is tried again here, milliseconds. */
const COMPLETE_AGAIN_MS = 5_000;

interface StepParts {
  readonly log: OperationLog;
  readonly redactor: Redactor;
  readonly secrets: Map<string, Secret>;
  readonly params: unknown;
  readonly step: Step<unknown>;
}

/** The tools of one step, and the wait for its end within its limit. */
function startStep(context: EngineContext, { log, redactor, secrets, params, step }: StepParts) {
  const { clock } = context.ports;
  const controller = new AbortController();
  const abort = () => controller.abort();
  context.stop.addEventListener("abort", abort);
  if (context.stop.aborted) abort();
  const deadline = clock.deadline(step.timeoutMs);
  deadline.signal.addEventListener("abort", abort);
  let progressedAt = Number.NEGATIVE_INFINITY;

  const tools: StepTools<unknown> = {
    id: context.journal().id,
    params,
    get handed() {
      return context.journal().handed as JsonObject;
    },
    keepHanded: async (more) =>
      await persist(context, (journal) => handedOn(journal, more)) === "ended",
    secrets,
    ports: context.ports,
    node: context.node,
    leads: context.leads,
    rememberCluster: context.rememberCluster,
    snapshots: context.snapshots,
    rotation: context.rotation,
    release: context.release,
    signal: controller.signal,
    open(sealed) {
      const opened = openSealed(sealed.sealed, context.sealingKeys());
      if (!opened.ok) throw new Error(opened.error.message);
      redactor.know(opened.value);
      return opened.value;
    },
    say: (line) => log.write(context.timestamp(), line),
    async progress(progress) {
      if (clock.monotonic() - progressedAt < PROGRESS_MS) return;
      if (context.journal().events.length >= MAX_WAITING) return;
      progressedAt = clock.monotonic();
      await context.record((journal) => stepProgressed(journal, progress, context.timestamp()));
    },
    async waitFor(what, look, everyMs = 2_000) {
      let saidAt = Number.NEGATIVE_INFINITY;
      while (!controller.signal.aborted) {
        const found = await look();
        if (found !== null) return found;
        if (clock.monotonic() - saidAt >= SAY_MS) {
          saidAt = clock.monotonic();
          await tools.say(`waiting for ${what}`);
        }
        await clock.sleep(everyMs, controller.signal);
      }
      return null;
    },
    async complete(what, attempt) {
      const startedAt = clock.monotonic();
      let saidAt = Number.NEGATIVE_INFINITY;
      while (true) {
        const done = await attempt();
        if (done.ok) return done.value;
        if (context.stop.aborted) return null;
        const waitedMs = clock.monotonic() - startedAt;
        if (clock.monotonic() - saidAt >= SAY_MS) {
          saidAt = clock.monotonic();
          const words = redactor.redact(`waiting for ${what}: ${troubleText(done.error)}`);
          // The operation's log may be on the disk that is waited for.
          context.ports.log.write("warn", "operation_waits", `operation ${tools.id}: ${words}`);
          await tools.say(words);
          const seconds = Math.round(waitedMs / 1000);
          await tools.progress({ done: seconds, total: null, unit: "seconds" });
        }
        await clock.sleep(COMPLETE_AGAIN_MS, context.stop);
      }
    },
  };

  return {
    tools,
    async finish(work: () => Promise<StepEnd>): Promise<StepEnd> {
      try {
        const end = await work();
        if (end.kind === "failed" && deadline.signal.aborted) {
          const limit = `${Math.round(step.timeoutMs / 1000)} s`;
          return { ...end, code: end.code ?? "timeout", message: `after ${limit}: ${end.message}` };
        }
        return end;
      } catch (cause) {
        return { kind: "failed", code: "internal", message: faultText(cause) };
      } finally {
        deadline.clear();
        context.stop.removeEventListener("abort", abort);
      }
    },
  };
}

/** How long to wait until a record that the disk did not take is tried again, milliseconds. */
const RECORD_AGAIN_MS = 5_000;

/**
 * Records a change, as long as it takes: nothing goes on that would not survive a crash. When the program
 * has to end it is tried once.
 */
function persist(
  context: EngineContext,
  change: (journal: Journal) => Journal,
): Promise<EngineEnd> {
  return untilStored(context, () => context.record(change));
}

/** Whether that note is there: state.json may have been put back to a moment before the step. */
async function wasNoted({ ports, journal }: EngineContext, step: string): Promise<boolean> {
  const begun = await begunStep(ports.disk, journal().id);
  return begun === step || begun === "unknown";
}

/** Notes apart from the journal, which may be lost, that a destructive step may have begun. */
function note(context: EngineContext, step: string): Promise<EngineEnd> {
  return untilStored(context, () => markBegun(context.ports.disk, context.journal().id, step));
}

async function untilStored(
  context: EngineContext,
  store: () => Promise<Result<void, DiskError>>,
): Promise<EngineEnd> {
  while (true) {
    const stored = await store();
    if (stored.ok) return "ended";
    await context.ports.clock.sleep(RECORD_AGAIN_MS, context.stop);
    if (context.stop.aborted) return "aborted";
  }
}
