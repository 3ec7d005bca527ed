import type { Machine, MachineFacts, MachineProcess } from "../../core/ports/machine.ts";
import type { ProgramError } from "../../core/ports/systemd.ts";
import { fail, ok } from "../../core/result.ts";

/** A machine of which a test says what it is like. */
export interface FakeMachine extends Machine {
  /** Changes facts, from now on. */
  set(facts: Partial<MachineFacts>): void;
  /** The processes that run from now on, or why they cannot be seen. */
  run(processes: readonly MachineProcess[] | ProgramError): void;
}

/** A machine with usual facts and no process that matters; `facts` replaces some. */
export function createFakeMachine(facts: Partial<MachineFacts> = {}): FakeMachine {
  let current: MachineFacts = {
    bootId: "00000000-0000-4000-8000-000000000001",
    uptimeSeconds: 123,
    kernel: "6.12.0",
    memoryAvailableBytes: 3_072_000_000,
    hostName: "host",
    ...facts,
  };
  let processes: readonly MachineProcess[] | ProgramError = [];
  return {
    facts: () => Promise.resolve(current),
    processes: () => Promise.resolve("code" in processes ? fail(processes) : ok(processes)),
    set: (changed) => {
      current = { ...current, ...changed };
    },
    run: (next) => {
      processes = next;
    },
  };
}
