import { isJsonObject } from "../json.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import { fail, ok, type Result } from "../result.ts";
import { PRIVATE_FILE } from "./durable.ts";
import type { HistoryEntry } from "./history.ts";
import { belongsTo, otherOwner, type Owner, stamp } from "./json_document.ts";
import { HISTORY_BEFORE_FILE, HISTORY_FILE, STATE_DIRECTORY } from "./paths.ts";

/** A file that would grow over this many bytes is kept as the one before, and a new one begins. */
export const MAX_HISTORY_BYTES = 5 * 1024 * 1024;

/** history.jsonl, which one process at a time appends to. */
export interface HistoryFile {
  /**
   * Appends those of `entries` that are not in the file. Entries are told apart by their whole line, time
   * included. After an error the file is looked at again, so that no entry is there twice.
   */
  write(entries: readonly HistoryEntry[], owner: Owner): Promise<Result<void, DiskError>>;
}

/** The file as it was found. */
interface Look {
  size: number;
  /** Its last line is whole: a power cut leaves a half one. */
  isWhole: boolean;
  /** It belongs to another agent, or is too large to be read: a new file begins. */
  isOver: boolean;
}

/** The history on `disk`. Reads nothing before the first entry. */
export function openHistoryFile(disk: Disk): HistoryFile {
  let look: Look | null = null;
  /** The lines of the last entries that are in the file. */
  let written = new Set<string>();

  async function lookAt(lines: readonly string[], owner: Owner): Promise<Result<Look, DiskError>> {
    const file = await disk.read(HISTORY_FILE);
    if (!file.ok && file.error.code !== "too_large") return file;
    const text = file.ok && file.value !== null ? decode(file.value) : "";
    const before = await disk.read(HISTORY_BEFORE_FILE);
    const all = before.ok && before.value !== null ? `${decode(before.value)}\n${text}` : text;
    written = new Set(lines.filter((line) => `\n${all}`.includes(`\n${line}\n`)));
    return ok({
      size: file.ok ? file.value?.length ?? 0 : 0,
      isWhole: text === "" || text.endsWith("\n"),
      isOver: !file.ok || otherOwnerOf(text, owner) !== null,
    });
  }

  return {
    async write(entries, owner) {
      const lines = entries.map((entry) => lineOf(entry, owner));
      if (look === null) {
        const found = await lookAt(lines, owner);
        if (!found.ok) return found;
        look = found.value;
      }
      const owed = lines.filter((line) => !written.has(line));
      if (owed.length === 0) return ok(undefined);
      const bytes = new TextEncoder().encode(owed.map((line) => `${line}\n`).join(""));
      if (look.isOver || look.size > 0 && look.size + bytes.length > MAX_HISTORY_BYTES) {
        const kept = await disk.rename(HISTORY_FILE, HISTORY_BEFORE_FILE);
        if (!kept.ok) return kept;
        look = { size: 0, isWhole: true, isOver: false };
      }
      const whole = look.isWhole ? bytes : new Uint8Array([LINE_END, ...bytes]);
      const isNew = look.size === 0;
      const appended = await disk.append(HISTORY_FILE, whole, PRIVATE_FILE);
      if (!appended.ok) {
        look = null;
        return appended;
      }
      if (isNew) await disk.syncDirectory(STATE_DIRECTORY);
      look = { size: look.size + whole.length, isWhole: true, isOver: false };
      written = new Set(lines);
      return ok(undefined);
    },
  };
}

const LINE_END = 0x0a;

/** Always the same text, whether the entry is new or was read from the state again. */
function lineOf({ at, certain, what, by, ...rest }: HistoryEntry, owner: Owner): string {
  return JSON.stringify({ at, ...stamp(owner), certain, what, by, ...rest });
}

/** The other agent that a history belongs to; null where this one may read it. */
function otherOwnerOf(text: string, owner: Owner): string | null {
  for (const line of text.split("\n")) {
    const entry = parsed(line);
    if (isJsonObject(entry)) return otherOwner(entry, owner);
  }
  return null;
}

/** The lines of a history file, oldest first. The error is for people. */
export function parseHistory(
  bytes: Uint8Array,
  owner: Owner,
): Result<{ readonly lines: readonly unknown[]; readonly unreadable: number }, string> {
  const text = decode(bytes);
  const other = otherOwnerOf(text, owner);
  if (other !== null) return fail(belongsTo(other, owner));
  const all = text.split("\n");
  // What is behind the last line end is the half of a line, or one that is just being written.
  const values = all.slice(0, -1).filter((line) => line.trim() !== "").map(parsed);
  const lines = values.filter(isJsonObject);
  return ok({ lines, unreadable: values.length - lines.length });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
