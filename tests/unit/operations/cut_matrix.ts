import assert from "node:assert/strict";
import { Cut } from "../../../adapters/fake/cut.ts";
import { operate } from "../../../core/agent/operate.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import type { AnyDefinition } from "../../../core/operations/definition.ts";
import { definitionOf } from "../../../core/operations/registry.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import type {
  Operation,
  OperationEvent,
  OperationResult,
} from "../../../core/protocol/operation.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { type Machine, openAgent } from "./machine.ts";

/**
 * The cut matrix: an operation is killed before, during and after every call of a port that an uncut run
 * makes, and a fresh process goes on with what the machine holds. The list of cuts is made by counting
 * the calls of an uncut run, never written by hand.
 *
 * For any operation: give {@link cutMatrix} a machine, the offer and what has to hold at the end. Events
 * are never acknowledged here, so the journal at the end holds every event of the operation.
 */

/** One call of a port, such as `disk.write` with its arguments. */
export interface PortCall {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Where a run is cut: at the `call`-th call of the first process (1 is the first). */
export interface CutPoint {
  readonly call: number;
  readonly moment: "before" | "during" | "after";
  /** The power goes with it: names that were not synced are lost, or kept. */
  readonly power?: "lost" | "kept";
}

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
}

/** Calls that leave nothing behind: a kill after one is a kill before the next. */
const LOOKS = new Set([
  ...["disk.read", "disk.list", "disk.stat", "disk.sha256", "disk.freeBytes"],
  ...["k8s.ready", "k8s.get", "k8s.list", "systemd.unitState", "systemd.journal", "k3s.version"],
  ...["s3.list", "s3.head", "boot.booted", "metadata.instanceId", "clock.sleep"],
]);
const HALF_DONE = new Set(["disk.write", "disk.append"]);

/** Kills the operation at every point; returns how many cuts that were. Prints the one that failed. */
export async function cutMatrix<M extends Machine>(one: CutCase<M>): Promise<number> {
  const whole = await runCut(one, null);
  const points = cutsOf(whole.calls, one);
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

/** Every cut of a run that made these calls. */
function cutsOf<M extends Machine>(calls: readonly PortCall[], one: CutCase<M>): CutPoint[] {
  return calls.flatMap(({ name }, index): CutPoint[] => {
    const call = index + 1;
    const before: CutPoint = { call, moment: "before" };
    if (LOOKS.has(name)) return [before];
    const half = HALF_DONE.has(name) || one.halves?.[name] !== undefined;
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
  for (const cut of [...cuts, null]) {
    end = await runProcess(one, machine, offer, calls, cut);
    if (end !== null) break;
    fallen += 1;
    if (cut?.power === undefined) machine.disk.restart();
    else {
      machine.disk.crash(cut.power);
      machine.reboot();
    }
    const now = await journalOn(machine);
    if (stored !== null && now !== null) assertGrown(stored, now);
    stored = now ?? stored;
  }
  judge(fallen);
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

/** A process from its start to the operation's end; null where it was killed. */
async function runProcess<M extends Machine>(
  one: CutCase<M>,
  machine: M,
  offer: Operation,
  calls: PortCall[],
  cut: CutPoint | null,
): Promise<Journal | null> {
  const process = mortalPorts(one, machine, calls, cut);
  const find = one.definition === undefined ? definitionOf : () => one.definition ?? null;
  const work = async () => {
    const context = await openAgent(process.ports);
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
  while (end === null && !process.isDead()) {
    const moved = await machine.clock.advanceToNext();
    if (!moved && end === null && !process.isDead()) throw new Error("the operation hangs");
  }
  if (process.isDead() || end === null) return null;
  if ("error" in end) throw (end as { error: unknown }).error;
  const { journal } = end as { journal: Journal | null };
  assert.ok(journal !== null, "the operation was not taken");
  return journal;
}

/** The machine's ports for one process, which dies at the cut: later calls do nothing and never return. */
function mortalPorts<M extends Machine>(
  one: CutCase<M>,
  machine: M,
  calls: PortCall[],
  cut: CutPoint | null,
): { readonly ports: Ports; isDead(): boolean } {
  let dead = false;
  let count = 0;
  const never = () => new Promise<never>(() => {});

  async function call(name: string, work: (...args: unknown[]) => unknown, args: unknown[]) {
    if (dead) return await never();
    count += 1;
    const moment = cut?.call === count ? cut.moment : null;
    if (moment === "before") {
      dead = true;
      return await never();
    }
    calls.push({ name, args });
    if (moment === "during" && HALF_DONE.has(name)) machine.disk.cutAt(1, "during");
    if (moment === "during" && !HALF_DONE.has(name)) {
      dead = true;
      await one.halves?.[name]?.(machine, { name, args });
      return await never();
    }
    try {
      const result = await work(...args);
      if (moment !== null) dead = true;
      return dead ? await never() : result;
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      dead = true;
      return await never();
    }
  }

  function mortal<P extends object>(port: keyof Ports, whole: P): P {
    const entries = Object.entries(whole).map(([name, member]) => [
      name,
      typeof member === "function"
        ? (...args: unknown[]) => call(`${port}.${name}`, member.bind(whole), args)
        : member,
    ]);
    return Object.fromEntries(entries) as P;
  }

  const { clock, log, random, ...others } = machine.ports;
  const wrapped = Object.entries(others).map((
    [name, port],
  ) => [name, mortal(name as keyof Ports, port)]);
  return {
    ports: {
      ...Object.fromEntries(wrapped) as Omit<Ports, "clock" | "log" | "random">,
      clock: { ...clock, sleep: mortal("clock", { sleep: clock.sleep }).sleep },
      random,
      log: { write: (...line) => void (dead || log.write(...line)) },
    },
    isDead: () => dead,
  };
}
