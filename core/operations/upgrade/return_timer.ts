import type { DiskError } from "../../ports/disk.ts";
import type { Ports } from "../../ports/mod.ts";
import type { ProgramError } from "../../ports/systemd.ts";
import { fail, ok, type Result } from "../../result.ts";
import { PRIVATE_FILE, writeDocument } from "../../state/durable.ts";
import { syncTimerLinks } from "../../state/timer_links.ts";
import { parentOf, RETURN_MARK_FILE, RETURN_TIMER, SYSTEMD_DIRECTORY } from "../../state/paths.ts";
import { returnUnits } from "./return_units.ts";

type TimerPorts = Pick<Ports, "disk" | "systemd">;

/** Units are read by anybody, as all units are. */
const UNIT_MODE = 0o644;

/**
 * Puts the return's units on disk and enables its timer, for the boots to come: it is not started in this
 * one. The mark that makes it count comes last.
 */
export async function armReturn(
  { disk, systemd }: TimerPorts,
  gateMs: number,
): Promise<Result<void, DiskError | ProgramError>> {
  for (const { path, text } of returnUnits(gateMs)) {
    const written = await writeDocument(disk, path, new TextEncoder().encode(text), UNIT_MODE);
    if (!written.ok) return written;
  }
  const reloaded = await systemd.daemonReload();
  if (!reloaded.ok) return reloaded;
  const enabled = await systemd.enable(RETURN_TIMER);
  if (!enabled.ok) return enabled;
  // One that a boot started, after the power had gone when it was armed before.
  const stopped = await systemd.stop(RETURN_TIMER);
  if (!stopped.ok) return stopped;
  const linked = await syncTimerLinks(disk);
  if (!linked.ok) return linked;
  const synced = await disk.syncDirectory(SYSTEMD_DIRECTORY);
  if (!synced.ok) return synced;
  return await writeDocument(disk, RETURN_MARK_FILE, new Uint8Array(), PRIVATE_FILE);
}

/**
 * Lets the timer that runs go on, and none start in a later boot. Before the agent itself orders the
 * return: of the two only one may restart the node, and the timer is what is left where the order is lost.
 */
export async function returnInThisBootOnly(
  { disk, systemd }: TimerPorts,
): Promise<Result<void, string>> {
  const disabled = await systemd.disable(RETURN_TIMER);
  if (!disabled.ok) return fail(disabled.error.message);
  const synced = await syncTimerLinks(disk);
  return synced.ok ? ok(undefined) : fail(synced.error.message);
}

/** Takes the return away, the mark first: what fires in between does nothing. Can be repeated. The error is for people. */
export async function disarmReturn({ disk, systemd }: TimerPorts): Promise<Result<void, string>> {
  for (const path of [`${RETURN_MARK_FILE}.tmp`, RETURN_MARK_FILE]) {
    const removed = await disk.remove(path);
    if (!removed.ok) return fail(removed.error.message);
  }
  const synced = await disk.syncDirectory(parentOf(RETURN_MARK_FILE));
  if (!synced.ok) return fail(synced.error.message);
  const stopped = await systemd.stop(RETURN_TIMER);
  if (!stopped.ok) return fail(stopped.error.message);
  const disabled = await systemd.disable(RETURN_TIMER);
  if (!disabled.ok) return fail(disabled.error.message);
  let changed = false;
  for (const { path } of returnUnits(0)) {
    const removed = await disk.remove(path);
    if (!removed.ok) return fail(removed.error.message);
    changed ||= removed.value;
  }
  if (!changed) return ok(undefined);
  const gone = await disk.syncDirectory(SYSTEMD_DIRECTORY);
  if (!gone.ok) return fail(gone.error.message);
  const reloaded = await systemd.daemonReload();
  return reloaded.ok ? ok(undefined) : fail(reloaded.error.message);
}

/** Whether anything of the return is on disk. */
export async function isReturnThere({ disk }: Pick<Ports, "disk">): Promise<boolean> {
  for (const path of [RETURN_MARK_FILE, `${SYSTEMD_DIRECTORY}/${RETURN_TIMER}`]) {
    const found = await disk.stat(path);
    if (!found.ok || found.value !== null) return true;
  }
  return false;
}
