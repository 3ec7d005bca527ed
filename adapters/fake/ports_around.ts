import type { Ports } from "../../core/ports/mod.ts";

/** A member of a port, bound to it. */
export type PortWork = (...args: unknown[]) => unknown;

/**
 * Makes one call of a port, or does not: `name` is the port's and the member's, such as `disk.write`. What
 * it gives back is what the caller gets.
 */
export type AroundCall = (name: string, work: PortWork, args: unknown[]) => unknown;

/**
 * The ports of a process that can be ended between, and in, its calls: every call that leaves it goes through
 * `around`, and a dead one writes no log. Reading the clock and drawing numbers are not calls: nobody outside
 * can tell whether a process that then ends has done them.
 */
export function portsAround(ports: Ports, around: AroundCall, isDead: () => boolean): Ports {
  function wrap<P extends object>(port: string, whole: P): P {
    const members = Object.entries(whole).map(([key, member]) => {
      if (typeof member !== "function") return [key, member];
      const name = `${port}.${key}`;
      const work: PortWork = member.bind(whole);
      return [key, (...args: unknown[]) => around(name, work, args)];
    });
    return Object.fromEntries(members) as P;
  }

  const { clock, random, log, ...others } = ports;
  const wrapped = Object.entries(others).map(([name, port]) => [name, wrap(name, port)]);
  return {
    ...Object.fromEntries(wrapped) as Omit<Ports, "clock" | "random" | "log">,
    clock: { ...clock, sleep: wrap("clock", { sleep: clock.sleep }).sleep },
    random,
    log: { write: (...line) => isDead() ? undefined : log.write(...line) },
  };
}

/** What a call of a dead process gives. */
export function never(): Promise<never> {
  return new Promise<never>(() => {});
}
