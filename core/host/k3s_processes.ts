import type { Machine } from "../ports/machine.ts";
import type { ProgramError } from "../ports/systemd.ts";
import { ok, type Result } from "../result.ts";

/** What a process of k3s does, by its command line. */
export type K3sWork = "server" | "etcd-snapshot";

/** A running process of k3s. */
export interface K3sProcess {
  readonly pid: number;
  readonly work: K3sWork;
}

/**
 * The processes of k3s that run now and touch its database. A unit that systemd calls inactive can leave
 * one behind, and a reset that somebody began by hand belongs to no unit at all.
 */
export async function findK3sProcesses(
  machine: Machine,
): Promise<Result<readonly K3sProcess[], ProgramError>> {
  const processes = await machine.processes();
  if (!processes.ok) return processes;
  return ok(processes.value.flatMap(({ pid, commandLine }) => {
    const work = k3sWork(commandLine);
    return work === null ? [] : [{ pid, work }];
  }));
}

/** Whether none of them runs, for sure: where processes cannot be seen, one may. */
export async function isK3sQuiet(machine: Machine): Promise<boolean> {
  const found = await findK3sProcesses(machine);
  return found.ok && found.value.length === 0;
}

/**
 * What a command line does, if it is k3s's. k3s writes its own: `/usr/local/bin/k3s server` in one piece
 * and blanks behind it; while it unpacks itself it still has the arguments it was given.
 */
export function k3sWork(cmdline: string): K3sWork | null {
  const words = cmdline.split(/[\0\s]+/).filter((word) => word !== "");
  const at = words.findIndex((word) => /(?:^|\/)k3s(?:-server|-etcd-snapshot)?$/.test(word));
  // A shell script may stand for k3s; anything else that only names it, an editor say, does not count.
  if (at < 0 || at > 1 || (at === 1 && !/(?:^|\/)(?:ba|da)?sh$/.test(words[0] ?? ""))) return null;
  const program = words[at] ?? "";
  if (program.endsWith("k3s-server")) return "server";
  if (program.endsWith("k3s-etcd-snapshot")) return "etcd-snapshot";
  const work = words[at + 1];
  return work === "server" || work === "etcd-snapshot" ? work : null;
}
