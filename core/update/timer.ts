import type { Clock } from "../ports/clock.ts";
import type { Disk } from "../ports/disk.ts";
import type { Systemd } from "../ports/systemd.ts";
import { fail, ok, type Result } from "../result.ts";
import { writeDocument } from "../state/durable.ts";
import { ROLLBACK_TIMER, SYSTEMD_DIRECTORY } from "../state/paths.ts";
import { syncTimerLinks } from "../state/timer_links.ts";
import { rollbackUnits } from "./rollback_units.ts";

/** What the timer is set and stopped through. */
export interface TimerPorts {
  readonly clock: Clock;
  readonly disk: Disk;
  readonly systemd: Systemd;
}

/** Units are read by anybody, as all units are. */
const UNIT_MODE = 0o644;
/** How often, and how far apart in milliseconds, systemd is asked whether the timer runs. */
const LOOKS = 20;
const LOOK_MS = 250;

/**
 * Puts the rollback's units on disk, enables the timer and starts it anew. Ok only when systemd says that
 * it runs: an update without its timer must not happen. The error is for people.
 */
export async function armTimer(
  { clock, disk, systemd }: TimerPorts,
  trialMs: number,
): Promise<Result<void, string>> {
  for (const { path, text } of rollbackUnits(trialMs)) {
    const written = await writeDocument(disk, path, new TextEncoder().encode(text), UNIT_MODE);
    if (!written.ok) return fail(written.error.message);
  }
  // One that still runs from before would count from then.
  const stopped = await systemd.stop(ROLLBACK_TIMER);
  if (!stopped.ok) return fail(stopped.error.message);
  const reloaded = await systemd.daemonReload();
  if (!reloaded.ok) return fail(reloaded.error.message);
  const enabled = await systemd.enable(ROLLBACK_TIMER);
  if (!enabled.ok) return fail(enabled.error.message);
  const linked = await syncTimerLinks(disk);
  if (!linked.ok) return fail(linked.error.message);
  const synced = await disk.syncDirectory(SYSTEMD_DIRECTORY);
  if (!synced.ok) return fail(synced.error.message);
  const started = await systemd.start(ROLLBACK_TIMER);
  if (!started.ok) return fail(started.error.message);
  for (let look = 0; look < LOOKS; look++) {
    if (await systemd.unitState(ROLLBACK_TIMER) === "active") return ok(undefined);
    await clock.sleep(LOOK_MS);
  }
  return fail(`${ROLLBACK_TIMER} was started and does not run`);
}

/**
 * Stops the timer and takes its units away. Can be repeated; the service is left to end by itself, since
 * it may be what calls this. The error is for people.
 */
export async function disarmTimer(
  { disk, systemd }: Omit<TimerPorts, "clock">,
): Promise<Result<void, string>> {
  const stopped = await systemd.stop(ROLLBACK_TIMER);
  const disabled = await systemd.disable(ROLLBACK_TIMER);
  if (!stopped.ok) return fail(stopped.error.message);
  if (!disabled.ok) return fail(disabled.error.message);
  let changed = false;
  for (const { path } of rollbackUnits(0)) {
    const removed = await disk.remove(path);
    if (!removed.ok) return fail(removed.error.message);
    changed ||= removed.value;
  }
  if (!changed) return ok(undefined);
  const synced = await disk.syncDirectory(SYSTEMD_DIRECTORY);
  if (!synced.ok) return fail(synced.error.message);
  const reloaded = await systemd.daemonReload();
  return reloaded.ok ? ok(undefined) : fail(reloaded.error.message);
}

/** Whether a unit of the rollback is on disk. */
export async function isTimerThere(disk: Disk): Promise<boolean> {
  const found = await disk.stat(`${SYSTEMD_DIRECTORY}/${ROLLBACK_TIMER}`);
  return !found.ok || found.value !== null;
}
