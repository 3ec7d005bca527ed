import assert from "node:assert/strict";
import { operate } from "../../../core/agent/operate.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import { definitionOf } from "../../../core/operations/registry.ts";
import type {
  Operation,
  OperationEvent,
  OperationResult,
} from "../../../core/protocol/operation.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { STATE_DIRECTORY } from "../../../core/state/paths.ts";
import { type Machine, openAgent } from "./machine.ts";
import {
  type CutPoint,
  isHalfDone,
  mortalPorts,
  type PortCall,
  type Reached,
} from "./cut_ports.ts";

export type { CutPoint, PortCall } from "./cut_ports.ts";

/**
 * The cut matrix: an operation is killed before, during and after every call of a port that an uncut run
 * makes, and a fresh process goes on with what the machine holds. The list of cuts is made by counting
 * the calls of an uncut run, never written by hand.
 *
 * For any operation: give {@link cutMatrix} a machine, the offer and what has to hold at the end. Events
 * are never acknowledged here, so the journal at the end holds every event of the operation.
 */

/** How an operation ended, however often its process was killed. */
export interface Outcome {
  readonly result: OperationResult;
  /** Every event, in order. */
  readonly events: readonly OperationEvent[];
  readonly journal: Journal;
  /** Every call that was begun, by all processes. */
  readonly calls: readonly PortCall[];
  /** Null for the uncut run. */
  readonly cut: CutPoint | null;
}

/** An operation to kill. */
export interface CutCase<M extends Machine> {
  /** A fresh machine for each run; all of them must be the same. */
  setUp(): M | Promise<M>;
  offer(machine: M): Operation;
  /** Where the kind is none of the registry's. */
  readonly definition?: AnyDefinition;
  /** Whether the API answers when the operation is offered; true unless told. */
  readonly apiUp?: boolean;
  /**
   * Calls that can be half done, by name (`k3s.clusterReset`), with what leaves them so. Writes and
   * appends of files are half done without being named.
   */
  readonly halves?: Readonly<Record<string, (machine: M, call: PortCall) => unknown>>;
  /** What must hold at the end; throws where it does not. */
  assertEnd(machine: M, outcome: Outcome): void | Promise<void>;
  /** The states that the end may have; `succeeded` alone unless told. */
  readonly mayEnd?: readonly OperationResult["state"][];
  /** How a process of the agent begins on the machine; {@link openAgent} unless told. */
  readonly open?: typeof openAgent;
}

/** Calls that leave nothing behind: a kill after one is a kill before the next. */
const LOOKS = new Set([
  ...["disk.read", "disk.list", "disk.stat", "disk.inspect", "disk.sha256", "disk.freeBytes"],
  ...["k8s.ready", "k8s.get", "k8s.list", "systemd.unitState", "systemd.journal", "k3s.version"],
  ...[
    "s3.list",
    "s3.head",
    "boot.booted",
    "boot.look",
    "machine.facts",
    "metadata.instanceId",
    "clock.sleep",
  ],
]);

/** Whether matrices are played in full: PBX_LONG=1, as `task nightly` has it. */
export const IS_LONG = Deno.env.get("PBX_LONG") === "1";

/**
 * Kills the operation at every call that changes something, and between any two of those at one of the looks,
 * the next time at the next one of them: a kill before one look leaves what a kill before the next does. At
 * all looks with PBX_LONG=1. Returns how many cuts that were. Prints the one that failed.
 *
 * @param moments `in_turn`: a call that changes something is cut at one moment of its own, the next call at
 * the next one: a quarter of the runs, with every call in it all the same
 */
export async function cutMatrix<M extends Machine>(
  one: CutCase<M>,
  moments: "each" | "in_turn" = "each",
): Promise<number> {
  const whole = await runCut(one, null);
  const looks = looksInTurn(whole.calls);
  const points = cutsOf(whole.calls, one).filter((point, index, all) => {
    if (LOOKS.has(whole.calls[point.call - 1]?.name ?? "")) return IS_LONG || looks.has(point.call);
    if (moments === "each") return true;
    const ofThisCall = all.filter(({ call }) => call === point.call);
    return ofThisCall[point.call % ofThisCall.length] === all[index];
  });
  for (const point of points) {
    try {
      await runCut(one, point);
    } catch (cause) {
      const call = whole.calls[point.call - 1];
      const where = `${call?.name} ${typeof call?.args[0] === "string" ? call.args[0] : ""}`;
      throw new Error(
        `cut ${point.moment} call ${point.call} (${where})${
          point.power ? `, power ${point.power}` : ""
        }`,
        { cause },
      );
    }
  }
  return points.length;
}

/** The number of one call of each row of looks: of the first row the first, of the second the second. */
function looksInTurn(calls: readonly PortCall[]): ReadonlySet<number> {
  const rows: number[][] = [];
  for (const [index, { name }] of calls.entries()) {
    if (!LOOKS.has(name)) continue;
    const last = rows.at(-1);
    if (last?.at(-1) === index) last.push(index + 1);
    else rows.push([index + 1]);
  }
  return new Set(rows.map((row, index) => row[index % row.length] ?? 0));
}

/** Steps of the clock: out of the way of a snapshot, beyond what is remembered, a dead battery. */
const DAY = 86_400_000;
const STEPS = [-30_000, 40 * DAY, -31 * DAY, 20 * 365 * DAY];
/** At so many calls at most, unless all are asked for. */
const MOST_CALLS = 60;

/**
 * Lets the node's clock step at every call, alone and with a kill or a power cut, and returns how many runs
 * that were. Whatever it shows: the operation ends as the same run does whose clock is right. Some sixty of
 * the calls with one step and one kind of cut each, by turns; all calls with all of them with PBX_LONG=1.
 */
export async function clockMatrix<M extends Machine>(one: CutCase<M>): Promise<number> {
  const whole = await runCut(one, null);
  const apart = IS_LONG ? 1 : Math.ceil(whole.calls.length / MOST_CALLS);
  let runs = 0;
  for (let index = 0; index < whole.calls.length; index += apart) {
    const { name, args } = whole.calls[index] as PortCall;
    const call = index + 1;
    const kill: CutPoint = { call, moment: LOOKS.has(name) ? "before" : "after" };
    const points = STEPS.flatMap((step): CutPoint[] => [
      { call, moment: "during", step, goesOn: true },
      { ...kill, step },
      { ...kill, step, power: "lost" },
    ]);
    for (const point of IS_LONG ? points : [points[runs * 7 % points.length]]) {
      if (point === undefined) continue;
      runs += 1;
      try {
        const right = point.goesOn === true ? whole : await runCut(one, withoutStep(point));
        const wrong = await runCut(one, point);
        assert.deepEqual(endOf(wrong), endOf(right), "it ends otherwise where the clock is right");
      } catch (cause) {
        const what = JSON.stringify(point);
        throw new Error(`${what} (${name} ${typeof args[0] === "string" ? args[0] : ""})`, {
          cause,
        });
      }
    }
  }
  return runs;
}

function withoutStep({ call, moment, power }: CutPoint): CutPoint {
  return { call, moment, ...(power === undefined ? {} : { power }) };
}

function endOf({ result: { state, step, code } }: Outcome) {
  return { state, step, code };
}

/** Every cut of a run that made these calls. */
function cutsOf<M extends Machine>(calls: readonly PortCall[], one: CutCase<M>): CutPoint[] {
  return calls.flatMap(({ name }, index): CutPoint[] => {
    const call = index + 1;
    const before: CutPoint = { call, moment: "before" };
    if (LOOKS.has(name)) return [before];
    const half = isHalfDone(name) || one.halves?.[name] !== undefined;
    return [
      before,
      ...(half ? [{ call, moment: "during" as const }] : []),
      { call, moment: "after" },
      { call, moment: "after", power: "lost" },
      { call, moment: "after", power: "kept" },
    ];
  });
}

/** One run to its end, cut at a point or not at all. */
export function runCut<M extends Machine>(
  one: CutCase<M>,
  cut: CutPoint | null,
): Promise<Outcome> {
  return runCuts(one, cut === null ? [] : [cut], (cutsThatFell) => {
    assert.equal(cutsThatFell, cut === null ? 0 : 1, "the cut did not fall");
  });
}

/** Reboots that belong to an operation, and one more each; what needs more of them goes round in circles. */
const MAX_PROCESSES = 12;

/**
 * Runs to the end through process after process, each cut where the next of `cuts` says (by its own
 * calls), the last one not at all. A cut that lies behind a process's end does not fall.
 */
export async function runCuts<M extends Machine>(
  one: CutCase<M>,
  cuts: readonly CutPoint[],
  judge: (cutsThatFell: number) => void = () => {},
): Promise<Outcome> {
  const machine = await one.setUp();
  const offer = one.offer(machine);
  const calls: PortCall[] = [];
  let stored: Journal | null = null;
  let end: Journal | null = null;
  let fallen = 0;
  let reached: Reached = { calls: 0 };
  for (let process = 1; end === null; process++) {
    assert.ok(process <= MAX_PROCESSES + cuts.length, "process after process, and no end");
    const cut = cuts[fallen] ?? null;
    const run = await runProcess(one, machine, offer, { calls, cut, reached });
    if (run.kind === "ended") end = run.journal;
    else if (run.kind === "killed" && cut?.power !== undefined) {
      machine.disk.crash(cut.power);
      machine.reboot();
    } else {
      machine.disk.restart();
      // A start makes what it finds last, before it acts on it; so does an orderly shutdown.
      await machine.disk.syncDirectory(STATE_DIRECTORY);
      if (machine.isDown?.() === true) machine.reboot();
    }
    if (run.kind === "killed") {
      fallen += 1;
      reached = { calls: 0 };
    }
    const now = await journalOn(machine);
    if (stored !== null && now !== null) assertGrown(stored, now);
    stored = now ?? stored;
  }
  judge(fallen + (reached.hasPassed === true ? 1 : 0));
  assert.ok(end !== null && end.result !== undefined, "the operation did not end");

  const cut = fallen === 0 ? null : cuts[fallen - 1] ?? null;
  const outcome: Outcome = { result: end.result, events: end.events, journal: end, calls, cut };
  if (stored !== null) assertGrown(stored, end);
  assert.deepEqual(end.events.map(({ seq }) => seq), end.events.map((_, index) => index + 1));
  const states = one.mayEnd ?? ["succeeded"];
  assert.ok(states.includes(end.result.state), `ended as ${JSON.stringify(end.result)}`);
  await one.assertEnd(machine, outcome);
  return outcome;
}

/** What holds for every operation: what was stored once never changes, and no step is left open. */
function assertGrown(before: Journal, after: Journal): void {
  const events = after.events.slice(0, before.events.length);
  assert.deepEqual(events, before.events, "a stored event changed its content");
  if (before.result !== undefined) assert.deepEqual(after.result, before.result);
  if (after.result !== undefined) assert.notEqual(after.steps.at(-1)?.state, "running");
}

async function journalOn(machine: Machine): Promise<Journal | null> {
  const context = await openAgent(machine.ports);
  return context.store.state.operation;
}

/** How a process went: the operation ended in it, the cut fell, or the machine went down under it. */
type ProcessEnd =
  | { readonly kind: "ended"; readonly journal: Journal }
  | { readonly kind: "killed" | "down" };

interface Life {
  /** Every call that was begun, by all processes. */
  readonly calls: PortCall[];
  readonly cut: CutPoint | null;
  /** Shared by the processes since the last cut. */
  readonly reached: Reached;
}

/** A process from its start to the operation's end, or to its own. */
async function runProcess<M extends Machine>(
  one: CutCase<M>,
  machine: M,
  offer: Operation,
  life: Life,
): Promise<ProcessEnd> {
  const isDown = () => machine.isDown?.() === true;
  if (machine.startsAgent?.() === false) {
    while (!isDown()) if (!await machine.clock.advanceToNext()) throw new Error("nothing happens");
    return { kind: "down" };
  }
  const process = mortalPorts(one.halves ?? {}, machine, life);
  const find = one.definition === undefined ? definitionOf : () => one.definition ?? null;
  const work = async () => {
    const context = await (one.open ?? openAgent)(process.ports);
    if (context.store.state.operation === null) {
      await takeOffer(context, offer, one.apiUp ?? true, find);
    }
    if (context.store.state.operation?.result === undefined) {
      await operate(context, () => {}, find);
    }
    return context.store.state.operation;
  };
  let end: { journal: Journal | null } | { error: unknown } | null = null;
  void work().then((journal) => end = { journal }, (error) => end = { error });
  while (end === null && !process.isDead() && !isDown()) {
    const moved = await machine.clock.advanceToNext();
    if (!moved && end === null && !process.isDead()) throw new Error("the operation hangs");
  }
  if (process.isDead()) return { kind: "killed" };
  if (end === null) {
    process.kill();
    return { kind: "down" };
  }
  if ("error" in end) throw (end as { error: unknown }).error;
  const { journal } = end as { journal: Journal | null };
  assert.ok(journal !== null, "the operation was not taken");
  return { kind: "ended", journal };
}
