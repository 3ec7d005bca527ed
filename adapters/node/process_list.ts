import type { MachineProcess } from "../../core/ports/machine.ts";

/**
 * The processes in what `systemd-cgls --full` draws: the lines of a tree, of groups (`├─k3s.service`)
 * and of processes (`│ └─ 42 /usr/local/bin/k3s server`).
 */
export function parseControlGroups(tree: string): readonly MachineProcess[] {
  return parseLines(tree, /^[ │├└─|`-]*?([0-9]+) (.+)$/);
}

/** The processes in what `pgrep --list-full` prints: number and command line. */
export function parseProcessList(list: string): readonly MachineProcess[] {
  return parseLines(list, /^([0-9]+) (.+)$/);
}

function parseLines(text: string, line: RegExp): readonly MachineProcess[] {
  return text.split("\n").flatMap((one) => {
    const [, pid, commandLine] = line.exec(one) ?? [];
    return pid === undefined || commandLine === undefined
      ? []
      : [{ pid: Number(pid), commandLine }];
  });
}
