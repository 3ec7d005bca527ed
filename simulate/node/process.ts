import { Cut } from "../../adapters/fake/cut.ts";
import type { FakeDisk } from "../../adapters/fake/disk.ts";
import {
  type AroundCall,
  never,
  portsAround,
  type PortWork,
} from "../../adapters/fake/ports_around.ts";
import type { Ports } from "../../core/ports/mod.ts";

/** Where a process dies: at which of its calls of a port from now on, and in which moment of it. */
export interface Fuse {
  /** 1 is the next call. */
  readonly calls: number;
  /** `during`: a write has put down half of its bytes; other calls are not begun. */
  readonly moment: "before" | "during" | "after";
  /** The machine loses its power: names that were not synced are `lost`, or luckily `kept`. */
  readonly power: "lost" | "kept" | null;
}

/** One process on a simulated machine. Once dead, its calls do nothing and never return. */
export interface Process {
  readonly ports: Ports;
  isAlive(): boolean;
  /** Ends it as SIGKILL does. */
  kill(): void;
  /** Sets where it dies by itself; null takes that back. */
  setFuse(fuse: Fuse | null): void;
}

const HALF_DONE = ["disk.write", "disk.append"];

/**
 * Ports that end with their process. A dead one may still compute until its next call, which leaves no
 * trace: everything outside of it is reached by calls. `died`: its fuse has gone off at that call. `around`:
 * makes the calls of a process that lives.
 */
export function startProcess(
  ports: Ports,
  disk: FakeDisk,
  died: (fuse: Fuse, at: string) => void,
  around: AroundCall = (_name, work, args) => work(...args),
): Process {
  let isDead = false;
  let fuse: Fuse | null = null;
  let left = 0;

  function die(at: string): Promise<never> {
    const mine = fuse;
    isDead = true;
    if (mine !== null) died(mine, at);
    return never();
  }

  /** The call in which the fuse goes off. */
  async function lastCall(name: string, work: PortWork, args: unknown[]): Promise<unknown> {
    const moment = fuse?.moment;
    const isHalf = moment === "during" && HALF_DONE.includes(name);
    if (moment !== "after" && !isHalf) return await die(name);
    if (isHalf) disk.cutAt(1, "during");
    try {
      await work(...args);
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
    }
    return await die(`${name} ${typeof args[0] === "string" ? args[0] : ""}`);
  }

  function call(name: string, work: PortWork, args: unknown[]): unknown {
    if (isDead) return never();
    if (left > 0 && --left === 0) return lastCall(name, work, args);
    return around(name, whileAlive(work), args);
  }

  /** What is done around a call may end the process: then the call is not begun, or never returns. */
  function whileAlive(work: PortWork): PortWork {
    return (...args) => isDead ? never() : work(...args);
  }

  return {
    ports: portsAround(ports, call, () => isDead),
    isAlive: () => !isDead,
    kill() {
      isDead = true;
    },
    setFuse(next) {
      fuse = next;
      left = next?.calls ?? 0;
    },
  };
}
