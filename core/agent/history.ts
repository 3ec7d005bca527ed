import type { Disk } from "../ports/disk.ts";
import type { Log } from "../ports/log.ts";
import type { HistoryEntry } from "../state/history.ts";
import { openHistoryFile } from "../state/history_file.ts";
import type { Store } from "../state/store.ts";
import { openTurns } from "../state/turns.ts";

/** Writes the entries in the state to history.jsonl. */
export interface History {
  /** Appends what is not in the file yet. Never fails: what cannot be written is tried again later. */
  flush(): Promise<void>;
}

/** The history of a running agent. */
export function openHistory(
  { disk, log, store }: { readonly disk: Disk; readonly log: Log; readonly store: Store },
): History {
  const file = openHistoryFile(disk);
  const inTurn = openTurns();
  let done: readonly HistoryEntry[] = [];
  let isSaid = false;

  async function write(): Promise<void> {
    const { agent, history } = store.state;
    const recent = history?.recent ?? [];
    // Before the state names its agent there is nobody whose history it would be.
    if (recent === done || recent.length === 0 || agent === null) return;
    const written = await file.write(recent, agent);
    if (written.ok) {
      done = recent;
      isSaid = false;
    } else if (!isSaid) {
      isSaid = true;
      const message =
        `${written.error.message}: what is ordered is done, and not in the history; ` +
        "will try again in every cycle";
      log.write("warn", "history_not_written", message);
    }
  }

  return { flush: () => inTurn(write) };
}
