import { never, portsAround } from "../../adapters/fake/ports_around.ts";
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
  return portsAround(ports, async (_name, work, args) => {
    if (process.dead) return await never();
    const answer = await work(...args);
    await process.gate;
    return process.dead ? await never() : answer;
  }, () => process.dead);
}
