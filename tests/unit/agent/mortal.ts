import { Cut } from "../../../adapters/fake/cut.ts";
import type { CutMoment } from "../../../adapters/fake/disk_faults.ts";
import type { FakeDisk } from "../../../adapters/fake/disk.ts";
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
  ...["disk.read", "disk.list", "disk.stat", "disk.sha256", "disk.freeBytes"],
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
  const never = () => new Promise<never>(() => {});

  function isLastOfKind(): boolean {
    if (fatalKind === null) return false;
    const { change, times } = fatalKind;
    return changes.filter((one) => change.test(one)).length >= times;
  }

  async function call(name: string, work: (...args: unknown[]) => unknown, args: unknown[]) {
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

  function mortal<P extends object>(port: keyof Ports, whole: P): P {
    const entries = Object.entries(whole).map(([name, member]) => [
      name,
      typeof member === "function"
        ? (...args: unknown[]) => call(`${port}.${name}`, member.bind(whole), args)
        : member,
    ]);
    return Object.fromEntries(entries) as P;
  }

  const { clock, log } = ports;
  return {
    ports: {
      clock: { ...clock, sleep: mortal("clock", { sleep: clock.sleep }).sleep },
      random: ports.random,
      disk: mortal("disk", ports.disk),
      http: mortal("http", { request: ports.http.request }),
      k8s: mortal("k8s", ports.k8s),
      systemd: mortal("systemd", ports.systemd),
      k3s: mortal("k3s", ports.k3s),
      s3: mortal("s3", ports.s3),
      servers: mortal("servers", ports.servers),
      snapshotFile: ports.snapshotFile,
      artifacts: mortal("artifacts", { fetch: ports.artifacts.fetch }),
      programs: mortal("programs", ports.programs),
      boot: mortal("boot", ports.boot),
      machine: mortal("machine", ports.machine),
      metadata: mortal("metadata", ports.metadata),
      log: { write: (...line) => void (dead || log.write(...line)) },
    },
    process: {
      kill: () => void (dead = true),
      isDead: () => dead,
      killAt: (change, moment) => void (fatal = { change, moment }),
      killAfter: (change, times = 1) => void (fatalKind = { change, times }),
      changes,
    },
  };
}
