import { Cut } from "../../../adapters/fake/cut.ts";
import { never, portsAround, type PortWork } from "../../../adapters/fake/ports_around.ts";
import type { Ports } from "../../../core/ports/mod.ts";
import { stepClock } from "./clock_steps.ts";
import type { Machine } from "./machine.ts";

/** One call of a port, such as `disk.write` with its arguments. */
export interface PortCall {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** Where a run is cut: at the `call`-th call (1 is the first), counted on through reboots that the operation makes itself. */
export interface CutPoint {
  readonly call: number;
  readonly moment: "before" | "during" | "after";
  /** The power goes with it: names that were not synced are lost, or kept. */
  readonly power?: "lost" | "kept";
  /** The node's clock steps by so much at this moment, milliseconds. */
  readonly step?: number;
  /** Nothing but that happens: the process lives on. */
  readonly goesOn?: true;
}

/** How many calls were made since the beginning, or since the last cut. */
export interface Reached {
  calls: number;
  /** The call of a cut that lets the process live on was made. */
  hasPassed?: boolean;
}

/** What leaves a call half done, by its name. */
export type Halves<M> = Readonly<Record<string, (machine: M, call: PortCall) => unknown>>;

/** Whether a call can be half done without a word from the test. */
export function isHalfDone(name: string): boolean {
  return name === "disk.write" || name === "disk.append";
}

/** The machine's ports for one process, which dies at the cut: later calls do nothing and never return. */
export function mortalPorts<M extends Machine>(
  halves: Halves<M>,
  machine: M,
  { calls, cut, reached }: {
    readonly calls: PortCall[];
    readonly cut: CutPoint | null;
    readonly reached: Reached;
  },
): { readonly ports: Ports; isDead(): boolean; kill(): void } {
  let dead = false;

  async function call(name: string, work: PortWork, args: unknown[]) {
    if (dead) return await never();
    reached.calls += 1;
    const here = cut?.call === reached.calls ? cut : null;
    if (here?.goesOn === true) reached.hasPassed = true;
    const setClock = (moment: CutPoint["moment"]) => {
      if (here?.step !== undefined && here.moment === moment) stepClock(machine, here.step);
    };
    setClock("before");
    const moment = here?.goesOn === true ? null : here?.moment ?? null;
    if (moment === "before") {
      dead = true;
      return await never();
    }
    calls.push({ name, args });
    if (moment === "during" && isHalfDone(name)) machine.disk.cutAt(1, "during");
    if (moment === "during" && !isHalfDone(name)) {
      dead = true;
      await halves[name]?.(machine, { name, args });
      setClock("during");
      return await never();
    }
    try {
      const pending = work(...args);
      setClock("during");
      const result = await pending;
      setClock("after");
      if (moment !== null) dead = true;
      return dead ? await never() : result;
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      dead = true;
      return await never();
    }
  }

  return {
    ports: portsAround(machine.ports, call, () => dead),
    isDead: () => dead,
    kill: () => void (dead = true),
  };
}
