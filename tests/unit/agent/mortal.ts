import { Cut } from "../../../adapters/fake/cut.ts";
import type { CutMoment } from "../../../adapters/fake/disk_faults.ts";
import type { FakeDisk } from "../../../adapters/fake/disk.ts";
import { never, portsAround, type PortWork } from "../../../adapters/fake/ports_around.ts";
import type { Ports } from "../../../core/ports/mod.ts";

/** One process of the agent: how it can be killed, and what it has done. */
export interface Process {
  /** From here on its calls neither do anything nor return, as if it had been killed. */
  kill(): void;
  isDead(): boolean;
  /** Kills it at its `change`-th call that changes anything outside of it (1 is the first). */
  killAt(change: number, moment: Exclude<CutMoment, "before">): void;
  /** Kills it after the `times`-th change that matches: `disk.rename /etc/...`, `http.request`. */
  killAfter(change: RegExp, times?: number): void;
  /** The calls so far that may have changed something: `disk.write /etc/...`, `http.request`. */
  readonly changes: readonly string[];
}

/**
 * Calls of the ports that leave nothing behind. A kill before or after one of them is the same as a kill
 * right after the change before it.
 */
const LOOKS = new Set([
  ...["disk.read", "disk.list", "disk.stat", "disk.inspect", "disk.sha256", "disk.freeBytes"],
  ...["k8s.ready", "k8s.get", "systemd.unitState", "k3s.version", "boot.booted"],
  ...[
    "programs.version",
    "machine.facts",
    "machine.processes",
    "servers.look",
    "servers.isHealthy",
    "metadata.instanceId",
    "clock.sleep",
  ],
]);

/** The ports of a process that can be killed between any two of its calls. */
export function mortalPorts(ports: Ports, disk: FakeDisk): { ports: Ports; process: Process } {
  const changes: string[] = [];
  let dead = false;
  let fatal: { change: number; moment: Exclude<CutMoment, "before"> } | null = null;
  let fatalKind: { change: RegExp; times: number } | null = null;

  function isLastOfKind(): boolean {
    if (fatalKind === null) return false;
    const { change, times } = fatalKind;
    return changes.filter((one) => change.test(one)).length >= times;
  }

  async function call(name: string, work: PortWork, args: unknown[]) {
    if (dead) return await never();
    if (LOOKS.has(name)) {
      const seen = await work(...args);
      return dead ? await never() : seen;
    }
    const path = typeof args[0] === "string" ? ` ${args[0]}` : "";
    const writesBefore = disk.writes().length;
    changes.push(`${name}${path}`);
    const isLast = fatal?.change === changes.length;
    if (isLast && fatal?.moment === "during" && name.startsWith("disk.")) disk.cutAt(1, "during");
    try {
      const result = await work(...args);
      // A folder that is there already is not made.
      if (name.startsWith("disk.") && disk.writes().length === writesBefore) changes.pop();
      else if (isLast || isLastOfKind()) dead = true;
      return dead ? await never() : result;
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      dead = true;
      return await never();
    }
  }

  return {
    ports: portsAround(ports, call, () => dead),
    process: {
      kill: () => void (dead = true),
      isDead: () => dead,
      killAt: (change, moment) => void (fatal = { change, moment }),
      killAfter: (change, times = 1) => void (fatalKind = { change, times }),
      changes,
    },
  };
}
