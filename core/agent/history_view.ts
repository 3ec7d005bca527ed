import type { Disk } from "../ports/disk.ts";
import { fail, ok, type Result } from "../result.ts";
import { HistoryEntry } from "../state/history.ts";
import { MAX_HISTORY_BYTES, parseHistory } from "../state/history_file.ts";
import { ownerOf } from "../state/owner.ts";
import { HISTORY_BEFORE_FILE, HISTORY_FILE } from "../state/paths.ts";

/** What the history files of a node say. */
export interface HistoryView {
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[];
  /** What could not be read, for people. */
  readonly problems: readonly string[];
}

/** The history of this node; reads only, beside a running agent too. The error is for people. */
export async function readHistory(disk: Disk): Promise<Result<HistoryView, string>> {
  const owner = await ownerOf(disk);
  const entries: HistoryEntry[] = [];
  const problems: string[] = [];
  for (const path of [HISTORY_BEFORE_FILE, HISTORY_FILE]) {
    const file = await disk.read(path, 2 * MAX_HISTORY_BYTES);
    if (!file.ok) return fail(file.error.message);
    if (file.value === null) continue;
    const found = parseHistory(file.value, owner);
    // The file before may be that of the agent that was installed here before; the one in use may not.
    if (!found.ok && path === HISTORY_FILE) return fail(`${path} ${found.error}`);
    if (!found.ok) {
      problems.push(`${path} ${found.error}`);
      continue;
    }
    const known = found.value.lines.map((line) => HistoryEntry.safeParse(line));
    entries.push(...known.flatMap((entry) => entry.success ? [entry.data] : []));
    const unread = found.value.unreadable + known.filter(({ success }) => !success).length;
    if (unread > 0) problems.push(`${path}: ${unread} lines are not readable and are left out`);
  }
  return ok({ entries, problems });
}

/** The entries of a time and after it, milliseconds since the epoch. */
export function since(entries: readonly HistoryEntry[], time: number): readonly HistoryEntry[] {
  return entries.filter(({ at }) => Date.parse(at) >= time);
}
