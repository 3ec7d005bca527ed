import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Maintenance } from "../protocol/desired_state.ts";
import type { DropIn } from "./drop_ins.ts";
import { nextWindow } from "./windows.ts";

/** Lower-case hex SHA-256 of each drop-in's content, by its path. */
export type DropInHashes = Readonly<Record<string, string>>;

/** What identifies a set of drop-ins in the state file, where their contents need not be. */
export function dropInHashes(files: readonly DropIn[]): DropInHashes {
  return Object.fromEntries(
    files.map(({ path, content }) => [path, bytesToHex(sha256(utf8ToBytes(content)))]),
  );
}

/** Whether k3s has yet to be restarted, and for what (the `pending` of protocol §4). */
export type PendingRestart =
  | { readonly pending: false }
  | { readonly pending: true; readonly reason: string };

/**
 * Whether k3s runs with other drop-ins than those on the disk.
 *
 * `running` are the hashes that k3s was last started with; null: the agent has not started it yet, and
 * when it does, k3s reads what is there. Both sides are facts that are stored, so the answer outlives a
 * reboot, and a drop-in that changes back before the restart makes it unnecessary.
 */
export function pendingRestart(
  { current, running }: { current: DropInHashes; running: DropInHashes | null },
): PendingRestart {
  if (running === null) return { pending: false };
  const changed = Object.keys({ ...current, ...running })
    .filter((path) => current[path] !== running[path])
    .map((path) => path.slice(path.lastIndexOf("/") + 1))
    .sort();
  if (changed.length === 0) return { pending: false };
  return { pending: true, reason: `k3s runs without the change of ${changed.join(" and ")}` };
}

/** What the decision about a restart of k3s rests on. */
export interface RestartQuestion {
  readonly pending: boolean;
  /** Null while no desired state has been accepted. */
  readonly maintenance: Maintenance | null;
  /** Milliseconds since the epoch, by the corrected clock. */
  readonly now: number;
  /** Whether that time is certain: no window is open at an uncertain one. */
  readonly isCertain: boolean;
  /** The ID of the operation that runs, or null. */
  readonly operationRunning: string | null;
}

/** Whether k3s may be restarted now, and if not, what it waits for, for people. */
export type RestartDecision =
  | { readonly restart: true }
  | { readonly restart: false; readonly why: string };

/**
 * Whether the agent may restart k3s at this moment: only when a restart is pending, inside a maintenance
 * window, and never while an operation runs. `search` finds the window.
 */
export function mayRestart(question: RestartQuestion, search = nextWindow): RestartDecision {
  const { pending, maintenance, now, isCertain, operationRunning } = question;
  if (!pending) return wait("no restart of k3s is pending");
  if (operationRunning !== null) {
    return wait(`operation ${operationRunning} is running; k3s is not restarted under it`);
  }
  if (maintenance === null) {
    return wait("no desired state has been accepted yet, so no maintenance window is known");
  }
  const next = search(maintenance, now);
  if (next === null) {
    return wait(
      "there are no maintenance windows; set one in the portal, or restart k3s by hand " +
        "(systemctl restart k3s)",
    );
  }
  if (!isCertain) {
    return wait(
      "the time is not certain: the clock was set or the node booted since the portal told its time; " +
        "windows count again once the portal has confirmed it",
    );
  }
  if (next.opensAt <= now) return { restart: true };
  const { timezone } = maintenance;
  return wait(
    `the next maintenance window opens ${timeText(next.opensAtWallClock)} (${timezone})`,
  );
}

function wait(why: string): RestartDecision {
  return { restart: false, why };
}

/** A wall clock's time as people write it, to the minute: `2026-03-29 03:30`. */
function timeText(wallClock: number): string {
  const shown = new Date(wallClock).toISOString();
  return `${shown.slice(0, 10)} ${shown.slice(11, 16)}`;
}
