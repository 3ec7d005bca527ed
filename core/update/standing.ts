import type { TimerPorts } from "./timer.ts";
import { disarmTimer, isTimerThere } from "./timer.ts";
import { NEW_PROGRAM_FILE, parentOf, PROGRAM_FILE } from "../state/paths.ts";
import type { RolledBack } from "../state/update_record.ts";
import { readTrial, removeTrial, type Trial } from "./trial.ts";

/** What a start finds of an update. */
export type Standing =
  /** No update is open. */
  | { readonly kind: "none" }
  /** This program is the new one, and has to prove itself. */
  | { readonly kind: "on_trial"; readonly trial: Trial }
  /** This program was put back. Stays so until {@link forget}. */
  | { readonly kind: "rolled_back"; readonly how: RolledBack }
  /** An update was cut short before the new program was in place. */
  | { readonly kind: "not_begun"; readonly trial: Trial };

/**
 * What update.json and the programs on disk say to a program of `version`. A full disk may have kept the
 * rollback from writing down what it did: then the new program's file tells, which is gone once it was
 * put in place.
 */
export async function readStanding(
  { disk }: Pick<TimerPorts, "disk">,
  version: string,
): Promise<Standing> {
  const found = await readTrial(disk);
  if (!found.ok || found.value.kind !== "loaded") return { kind: "none" };
  const trial = found.value.value;
  if (trial.rolled_back !== undefined) {
    return { kind: "rolled_back", how: { from: trial.to, to: trial.from, ...trial.rolled_back } };
  }
  if (trial.to === version) return { kind: "on_trial", trial };
  const pending = await disk.stat(NEW_PROGRAM_FILE);
  if (pending.ok && pending.value === null) {
    const reason = `${PROGRAM_FILE} was put back; by what was not written down`;
    return {
      kind: "rolled_back",
      how: { from: trial.to, to: version, at: trial.deadline, reason },
    };
  }
  return { kind: "not_begun", trial };
}

/**
 * Ends an update for good: from here on no rollback does anything, and its timer is gone. Can be
 * repeated; the error is for people.
 */
export async function forget(ports: Omit<TimerPorts, "clock">): Promise<string | null> {
  // What is in place has to last before that goes which would put it right after a power cut: of a rename
  // whose sync failed only the next sync tells.
  const lasting = await ports.disk.syncDirectory(parentOf(PROGRAM_FILE));
  if (!lasting.ok) return lasting.error.message;
  // First what the rollback goes by: a timer that fires in between must find nothing to do.
  const removed = await removeTrial(ports.disk);
  const disarmed = await isTimerThere(ports.disk) ? await disarmTimer(ports) : null;
  if (!removed.ok) return removed.error.message;
  return disarmed === null || disarmed.ok ? null : disarmed.error;
}
