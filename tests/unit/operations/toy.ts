import { z } from "zod";
import { operate } from "../../../core/agent/operate.ts";
import { takeOffer } from "../../../core/agent/take_offer.ts";
import type { BoundContext } from "../../../core/agent/context.ts";
import type { AnyDefinition, Step, StepTools } from "../../../core/operations/definition.ts";
import { defineOperation, type Definition } from "../../../core/operations/definition.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Journal } from "../../../core/state/journal.ts";
import { type Machine, openAgent } from "./machine.ts";

/** The tools of a toy step. */
export type Tools = StepTools<JsonObject>;

/** A step of a toy: one minute, done at once unless told. */
export function step(
  run: Step<JsonObject>["run"] = () => Promise.resolve({ kind: "done" }),
  more: Partial<Step<JsonObject>> = {},
): Step<JsonObject> {
  return { timeoutMs: 60_000, run, ...more };
}

/** An operation `toy` that takes any parameters and gives out all that its steps handed on. */
export function toy<N extends string>(steps: Definition<JsonObject, N>["steps"]): AnyDefinition {
  return defineOperation<JsonObject, N>({
    kind: "toy",
    params: z.record(z.string(), z.json()) as unknown as z.ZodType<JsonObject>,
    needsApi: false,
    steps,
    output: (handed) => handed,
  });
}

/** A process that takes the operation, or goes on with the stored one. */
export interface ToyRun {
  readonly context: BoundContext;
  /** Resolves when the engine ends, for whatever reason. */
  readonly done: Promise<void>;
  journal(): Journal;
  stop(): void;
}

/** Starts a process on the machine that runs the operation `op-1`. */
export async function startToy(
  machine: Machine,
  definition: AnyDefinition,
  params: JsonObject = {},
  leads: () => boolean = () => true,
): Promise<ToyRun> {
  const controller = new AbortController();
  const context = await openAgent(machine.ports, controller.signal);
  const find = () => definition;
  if (context.store.state.operation === null) {
    await takeOffer(context, { id: "op-1", kind: "toy", params }, true, find);
  }
  return {
    context,
    done: operate(context, () => {}, find, leads),
    journal() {
      const { operation } = context.store.state;
      if (operation === null) throw new Error("there is no operation");
      return operation;
    },
    stop: () => controller.abort(),
  };
}

/** Runs the operation to its end; time passes as it needs. */
export async function runToy(
  machine: Machine,
  definition: AnyDefinition,
  params: JsonObject = {},
  leads: () => boolean = () => true,
): Promise<Journal> {
  const run = await startToy(machine, definition, params, leads);
  let ended = false;
  void run.done.finally(() => ended = true);
  while (!ended && await machine.clock.advanceToNext());
  await run.done;
  return run.journal();
}

/** What the operation's log holds. */
export function logOf(machine: Machine): string {
  return machine.disk.text("/var/lib/pbx-agent/ops/op-1.log") ?? "";
}
