import { never, portsAround } from "../../adapters/fake/ports_around.ts";
import type { Ports } from "../../core/ports/mod.ts";

/** A process of the agent, as it is ended from outside. */
export interface Process {
  dead: boolean;
  isPaused: boolean;
  /** It goes on when this is kept. */
  gate: Promise<void>;
  open(): void;
  /** What is to be done to it in the middle of its work; null: nothing. */
  planned: Strike | null;
}

/** Something that is done to a process when so many calls have come back. */
export interface Strike {
  /** Counted from when the first call of this name comes back, such as `servers.look`; null: from now on. */
  readonly after: string | null;
  readonly calls: number;
  readonly strike: () => void;
}

/** A process that can be killed and stopped. It stands still when a call has come back, not before one. */
export function mortal(ports: Ports, process: Process): Ports {
  return portsAround(ports, async (name, work, args) => {
    if (process.dead) return await never();
    const answer = await work(...args);
    if (!process.dead) count(process, name);
    await process.gate;
    return process.dead ? await never() : answer;
  }, () => process.dead);
}

function count(process: Process, name: string): void {
  const { planned } = process;
  if (planned === null || (planned.after !== null && planned.after !== name)) return;
  const { calls, strike } = planned;
  process.planned = calls === 0 ? null : { after: null, calls: calls - 1, strike };
  if (calls === 0) strike();
}
