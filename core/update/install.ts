import type { Programs } from "../ports/programs.ts";
import { fail, ok, type Result } from "../result.ts";
import {
  NEW_PROGRAM_FILE,
  parentOf,
  PREVIOUS_PROGRAM_FILE,
  PROGRAM_FILE,
  UPDATE_FILE,
} from "../state/paths.ts";
import { forget } from "./standing.ts";
import { armTimer, type TimerPorts } from "./timer.ts";
import { writeTrial } from "./trial.ts";

/** What an installation works through. */
export interface InstallPorts extends TimerPorts {
  readonly programs: Programs;
}

/** What is installed. */
export interface Installation {
  readonly from: string;
  readonly to: string;
  /** The corrected time, milliseconds. */
  readonly now: number;
  /** How long the new version has, milliseconds. */
  readonly trialMs: number;
  /** Keeps that the trial begins; the program may be the new one a moment later. */
  onTrial(deadline: string): Promise<void>;
}

/**
 * Puts the checked program in place (operations.md, Own updates): the running one is kept, what the
 * rollback has to know is written, its timer is armed, then one rename. At any moment before the rename
 * the running program is the one that starts; from then on the timer stands. What fails before is undone.
 */
export async function install(
  ports: InstallPorts,
  { from, to, now, trialMs, onTrial }: Installation,
): Promise<Result<void, string>> {
  const { disk, programs } = ports;
  const kept = await programs.link(PROGRAM_FILE, PREVIOUS_PROGRAM_FILE);
  if (!kept.ok) return fail(kept.error.message);
  const deadline = new Date(now + trialMs).toISOString();
  const armedAt = new Date(now).toISOString();
  const written = await writeTrial(disk, { from, to, armed_at: armedAt, deadline });
  const armed = written.ok ? await armTimer(ports, trialMs) : fail(written.error.message);
  if (!armed.ok) return await undone(ports, armed.error);
  await onTrial(deadline);
  const renamed = await disk.rename(NEW_PROGRAM_FILE, PROGRAM_FILE);
  if (!renamed.ok) return await undone(ports, renamed.error.message);
  // It is in place. Should the power take that back, the old one starts, as it would have before.
  await disk.syncDirectory(parentOf(PROGRAM_FILE));
  return ok(undefined);
}

async function undone(ports: InstallPorts, why: string): Promise<Result<never, string>> {
  const left = await forget(ports);
  return fail(left === null ? why : `${why}; ${UPDATE_FILE} and its timer stay for now: ${left}`);
}
