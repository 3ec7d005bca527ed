import { dropImage } from "../operations/upgrade/drop_image.ts";
import { readUpgrade, removeUpgrade } from "../operations/upgrade/record.ts";
import { disarmReturn, isReturnThere } from "../operations/upgrade/return_timer.ts";
import type { BoundContext } from "./context.ts";
import { runningOperation } from "../state/journal.ts";

/**
 * Takes away what an upgrade left that is not under way any more: an armed return would restart the node
 * once for nothing, and an image that was not proven takes room. Where an image runs that is not proven the
 * return stays, because it leads back. True when nothing is left to do; else it has to be repeated.
 */
export async function settleUpgrade(context: BoundContext): Promise<boolean> {
  const { ports } = context;
  if (isUpgrading(context)) return true;
  const isArmed = await isReturnThere(ports);
  const record = await readUpgrade(ports.disk);
  if (!isArmed && record.ok && record.value.kind === "absent") return true;
  const upgrade = record.ok && record.value.kind === "loaded" ? record.value.value : null;
  const { entry } = await ports.boot.booted();
  if (await isOnTrial(context, { entry, isArmed, to: upgrade?.to_entry ?? null })) {
    const what = entry ?? "an image that is not known";
    const next = isArmed
      ? "the return's timer restarts the node into the image before"
      : "the next restart leads to the image before";
    ports.log.write(
      "warn",
      "upgrade_forgotten",
      `${what} runs on trial and no upgrade is under way any more: ${next}`,
    );
    return true;
  }
  const left = await clear(context, upgrade?.to_entry ?? null);
  ports.log.write(
    left === null ? "info" : "warn",
    "upgrade_settled",
    left ?? "what an earlier upgrade left is cleared away",
  );
  return left === null;
}

/** Whether an upgrade is under way: what it has prepared is its own. */
export function isUpgrading({ store }: BoundContext): boolean {
  return runningOperation(store.state)?.kind === "cluster.upgrade";
}

/** Whether the image that runs was not proven: any other boot is in the default. */
async function isOnTrial(
  { ports }: BoundContext,
  { entry, isArmed, to }: {
    readonly entry: string | null;
    readonly isArmed: boolean;
    readonly to: string | null;
  },
): Promise<boolean> {
  if (entry === null) return isArmed;
  const view = await ports.boot.look();
  const pinned = view.ok ? view.value.default : null;
  if (pinned === entry) return false;
  return to === null ? isArmed && pinned !== null : to === entry;
}

/** What cannot be cleared away, or null. The record goes last: it names the image that has to go. */
async function clear({ ports }: BoundContext, to: string | null): Promise<string | null> {
  const disarmed = await disarmReturn(ports);
  if (!disarmed.ok) return disarmed.error;
  const dropped = to === null ? disarmed : await dropImage(ports, to);
  if (!dropped.ok) return dropped.error;
  const removed = await removeUpgrade(ports.disk);
  return removed.ok ? null : removed.error.message;
}
