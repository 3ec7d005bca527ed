import { never, type PortWork } from "../../adapters/fake/ports_around.ts";
import type { Clock } from "../../core/ports/clock.ts";

/** Something that happens on a machine exactly at a call that its agent makes of a port. */
export interface CallHook {
  /** Which calls count, such as `k3s.saveSnapshot`; null: all of them. */
  readonly call: string | null;
  /** 1 is the next of them. */
  readonly calls: number;
  readonly moment: "before" | "during" | "after";
  /** How far into the call `during` is, milliseconds; after its end, where it is shorter. */
  readonly duringMs: number;
  /** `at`: the call's name. */
  readonly work: (at: string) => void;
}

/** Counts calls, by whichever process makes them, and does what was planned for one of them. */
export interface CallHooks {
  /** Replaces what was planned; null: nothing is. */
  set(hook: CallHook | null): void;
  /** Makes one call, with what was planned for it. */
  around(isAlive: () => boolean, name: string, work: PortWork, args: unknown[]): unknown;
}

/** Hooks of one machine with nothing planned yet. */
export function createCallHooks(clock: Clock): CallHooks {
  let hook: CallHook | null = null;
  let left = 0;

  async function hooked(
    { moment, duringMs, work: happen }: CallHook,
    isAlive: () => boolean,
    name: string,
    work: () => unknown,
  ): Promise<unknown> {
    if (moment === "before") happen(name);
    if (moment === "during") void clock.sleep(duringMs).then(() => happen(name));
    const result = await work();
    if (moment === "after") happen(name);
    return isAlive() ? result : await never();
  }

  return {
    set(next) {
      hook = next;
      left = next?.calls ?? 0;
    },
    around(isAlive, name, work, args) {
      const mine = hook;
      if (mine === null || (mine.call !== null && mine.call !== name)) return work(...args);
      if (--left > 0) return work(...args);
      hook = null;
      return hooked(mine, isAlive, name, () => work(...args));
    },
  };
}
