import type { Disk } from "../ports/disk.ts";

/** What a process of k3s does, by its command line. */
export type K3sWork = "server" | "etcd-snapshot";

/** A running process of k3s. */
export interface K3sProcess {
  readonly pid: number;
  readonly work: K3sWork;
}

const MAX_BYTES = 64 * 1024;

/**
 * The processes of k3s that run now and touch its database. A unit that systemd calls inactive can leave
 * one behind, and a reset that somebody began by hand belongs to no unit at all. What cannot be read is
 * taken for none: processes come and go while they are looked at.
 */
export async function findK3sProcesses(disk: Disk): Promise<readonly K3sProcess[]> {
  const entries = await disk.list("/proc");
  if (!entries.ok || entries.value === null) return [];
  const found: K3sProcess[] = [];
  for (const name of entries.value) {
    if (!/^[0-9]+$/.test(name)) continue;
    const read = await disk.read(`/proc/${name}/cmdline`, MAX_BYTES);
    if (!read.ok || read.value === null) continue;
    const work = k3sWork(new TextDecoder().decode(read.value));
    if (work !== null) found.push({ pid: Number(name), work });
  }
  return found;
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
