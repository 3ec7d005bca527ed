import { portsAround } from "../../../adapters/fake/ports_around.ts";
import { type Machine, START } from "./machine.ts";

/** What becomes of the node's clock in the middle of something, milliseconds. */
export const CLOCK_STEPS: readonly (readonly [string, number])[] = [
  ["30 s back", -30_000],
  ["a day back", -86_400_000],
  ["back to 1970", -START],
  ["40 years ahead", 40 * 365 * 86_400_000],
];

/** Sets the clock, but not before its beginning. */
export function stepClock({ clock }: Pick<Machine, "clock">, by: number): void {
  clock.setWallClock(Math.max(5_000, clock.now() + by));
}

/** The machine with a clock that is set when the `at`-th call of a port is made; 0 sets it never. */
export function withClockStep<M extends Machine>(machine: M, at: number, by: number): M {
  let calls = 0;
  const ports = portsAround(machine.ports, async (_name, work, args) => {
    calls += 1;
    if (calls === at) stepClock(machine, by);
    return await work(...args);
  }, () => false);
  return Object.defineProperty(machine, "ports", { value: ports });
}

/** The machine with a k3s that is told to do something, whereupon the clock is set. */
export function withClockStepIn<M extends Machine>(
  machine: M,
  call: "saveSnapshot" | "resetCluster",
  step: () => void,
): M {
  const work = machine.ports.k3s[call] as (...args: unknown[]) => unknown;
  Object.assign(machine.ports.k3s, {
    [call](...args: unknown[]) {
      step();
      return work(...args);
    },
  });
  return machine;
}
