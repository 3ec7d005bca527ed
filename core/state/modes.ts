import type { Disk, Inspected } from "../ports/disk.ts";
import type { Log } from "../ports/log.ts";
import { fail, ok, type Result } from "../result.ts";
import { PRIVATE_DIRECTORY, PRIVATE_FILE } from "./durable.ts";
import {
  BOOTSTRAP_FILE,
  CONFIG_FILE,
  HISTORY_BEFORE_FILE,
  HISTORY_FILE,
  IDENTITY_FILE,
  K3S_HOLD_FILE,
  LOCK_FILE,
  OPERATIONS_DIRECTORY,
  RELEASE_FILE,
  RESTORE_DIRECTORY,
  RESTORE_ORIGIN_FILE,
  SNAPSHOTS_FILE,
  STATE_ASIDE_FILE,
  STATE_DIRECTORY,
  STATE_FILE,
  UPDATE_FILE,
  UPGRADE_FILE,
} from "./paths.ts";

/** A file or folder that others could use, or that is something else than it must be. */
export interface WrongMode {
  readonly path: string;
  /** Null: it is a link, or not the kind of thing that belongs there. */
  readonly wanted: number | null;
  /** For people: what it is and what it must be. */
  readonly message: string;
}

/** Documents that the agent reads and that decide what it does: a link in their place is refused. */
const DOCUMENTS = [
  IDENTITY_FILE,
  STATE_FILE,
  BOOTSTRAP_FILE,
  UPDATE_FILE,
  UPGRADE_FILE,
  RELEASE_FILE,
  RESTORE_ORIGIN_FILE,
  SNAPSHOTS_FILE,
];

/** Everybody may read why k3s is held; nobody else may write it. */
const HOLD_MODE = 0o644;

/** What is wrong with the modes and owners of the agent's files. What cannot be looked at is left out. */
export async function wrongModes(disk: Disk): Promise<readonly WrongMode[]> {
  const found: (WrongMode | null)[] = [];
  async function look(path: string, kind: Inspected["kind"], mode: number, strict: boolean) {
    const seen = await disk.inspect(path);
    if (seen.ok && seen.value !== null) found.push(judgeMode(path, seen.value, kind, mode, strict));
  }

  // An administrator may have moved the folder to another disk, or keep the configuration elsewhere.
  await look(STATE_DIRECTORY, "directory", PRIVATE_DIRECTORY, false);
  await look(CONFIG_FILE, "file", PRIVATE_FILE, false);
  for (const path of DOCUMENTS) await look(path, "file", PRIVATE_FILE, true);
  for (const path of [STATE_ASIDE_FILE, LOCK_FILE, HISTORY_FILE, HISTORY_BEFORE_FILE]) {
    await look(path, "file", PRIVATE_FILE, false);
  }
  await look(K3S_HOLD_FILE, "file", HOLD_MODE, false);
  for (const folder of [OPERATIONS_DIRECTORY, RESTORE_DIRECTORY]) {
    await look(folder, "directory", PRIVATE_DIRECTORY, true);
    const names = await disk.list(folder);
    if (!names.ok || names.value === null) continue;
    for (const name of names.value) await look(`${folder}/${name}`, "file", PRIVATE_FILE, false);
  }
  return found.filter((one) => one !== null);
}

function judgeMode(
  path: string,
  { kind, mode, isOwn }: Inspected,
  wantedKind: Inspected["kind"],
  wanted: number,
  strict: boolean,
): WrongMode | null {
  if (kind !== wantedKind) {
    if (!strict) return null;
    const must = wantedKind === "file" ? "a plain file" : "a plain folder";
    const is = kind === "link" ? "a symbolic link" : kind === "directory" ? "a folder" : kind;
    return { path, wanted: null, message: `${path} is ${is} and must be ${must}` };
  }
  if ((mode & ~wanted) === 0 && isOwn) return null;
  const owner = isOwn ? "" : " and belongs to another user";
  return {
    path,
    wanted,
    message: `${path} has mode ${octal(mode)}${owner}; it must have ${
      octal(wanted)
    } and belong to root`,
  };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/**
 * Takes from others what only root may read or write, and tells it: a file that was open to them may have
 * been read. The error is for people: what stands in the place of one of the agent's own files is not
 * followed, read or replaced.
 */
export async function repairModes(disk: Disk, log: Log): Promise<Result<void, string>> {
  for (const { path, wanted, message } of await wrongModes(disk)) {
    if (wanted === null) {
      return fail(`${message}: look at who put it there, and put the file itself back`);
    }
    const repaired = await disk.restrict(path, wanted);
    if (repaired.ok) log.write("warn", "mode_repaired", `${message}: repaired`, { path });
    else log.write("error", "mode_not_repaired", `${message}: ${repaired.error.message}`, { path });
  }
  return ok(undefined);
}
