import type { Machine } from "../ports/machine.ts";
import { findK3sProcesses } from "./k3s_processes.ts";
import { type DropInHashes, pendingRestart } from "./restart.ts";

/** Notices that k3s was started anew by somebody else: a person, an operation, systemd after a crash. */
export interface RestartWatch {
  /**
   * Looks at k3s while a restart is pending. True where all of its processes are others than when it looked
   * before, and the drop-ins are the same: whoever began them, they have read these.
   */
  look(machine: Machine, current: DropInHashes): Promise<boolean>;
  /** Nothing is pending: the next look is the first one. */
  forget(): void;
}

/** Remembers in memory only: after a reboot a pending restart is one as before (operations.md, Host). */
export function openRestartWatch(): RestartWatch {
  let seen: { readonly pids: readonly number[]; readonly hashes: DropInHashes } | null = null;
  return {
    async look(machine, current) {
      const found = await findK3sProcesses(machine);
      const servers = found.ok ? found.value.filter(({ work }) => work === "server") : [];
      // Between its end and its start there is none, and nothing to compare with.
      if (servers.length === 0) return false;
      const before = seen;
      const pids = servers.map(({ pid }) => pid);
      seen = { pids, hashes: current };
      return before !== null && !before.pids.some((pid) => pids.includes(pid)) &&
        !pendingRestart({ current, running: before.hashes }).pending;
    },
    forget() {
      seen = null;
    },
  };
}
