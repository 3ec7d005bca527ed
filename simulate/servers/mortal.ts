import type { Ports } from "../../core/ports/mod.ts";

/** A process of the agent, as it is ended from outside. */
export interface Process {
  dead: boolean;
  /** It goes on when this is kept. */
  gate: Promise<void>;
  open(): void;
}

/** A process that can be killed and stopped. It stands still when a call has come back, not before one. */
export function mortal(ports: Ports, process: Process): Ports {
  const never = () => new Promise<never>(() => {});
  const wrap = <P extends object>(whole: P): P =>
    Object.fromEntries(
      Object.entries(whole).map(([name, member]) => [
        name,
        typeof member !== "function" ? member : async (...args: unknown[]) => {
          if (process.dead) return await never();
          const answer = await member.apply(whole, args);
          await process.gate;
          return process.dead ? await never() : answer;
        },
      ]),
    ) as P;
  const { clock, random, log, ...others } = ports;
  const wrapped = Object.entries(others).map(([name, port]) => [name, wrap(port)]);
  return {
    ...Object.fromEntries(wrapped),
    clock: { ...clock, sleep: wrap({ sleep: clock.sleep }).sleep },
    random,
    log: { write: (...line) => void (process.dead || log.write(...line)) },
  } as Ports;
}
