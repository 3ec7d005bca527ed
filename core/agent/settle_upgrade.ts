import { dropImage } from "../operations/upgrade/drop_image.ts";
import { readUpgrade, removeUpgrade } from "../operations/upgrade/record.ts";
import { disarmReturn, isReturnThere } from "../operations/upgrade/return_timer.ts";
import { ok } from "../result.ts";
import type { BoundContext } from "./context.ts";

/**
 * Takes away what an upgrade left that is not under way any more: a return that is armed would restart the
 * node once for nothing, and an image that was not proven takes room. The return stays armed in an image that is not the default, since an upgrade that nobody
 * remembers (state.json was lost) has proven nothing: that image is left by the return.
 */
export async function settleUpgrade(context: BoundContext): Promise<void> {
  const { ports, store } = context;
  const { operation } = store.state;
  if (operation?.kind === "cluster.upgrade" && operation.result === undefined) return;
  const isArmed = await isReturnThere(ports);
  const record = await readUpgrade(ports.disk);
  if (!isArmed && record.ok && record.value.kind === "absent") return;
  const { entry } = await ports.boot.booted();
  const view = await ports.boot.look();
  const isOnTrial = record.ok && record.value.kind === "loaded" &&
    record.value.value.to_entry === entry &&
    !(view.ok && view.value.default === entry);
  if (isOnTrial) {
    ports.log.write(
      "warn",
      "upgrade_forgotten",
      `${entry} runs on trial and no upgrade is under way any more: the node returns to the image before`,
    );
    return;
  }
  const disarmed = await disarmReturn(ports);
  const dropped = record.ok && record.value.kind === "loaded"
    ? await dropImage(ports, record.value.value.to_entry)
    : ok(undefined);
  const removed = await removeUpgrade(ports.disk);
  const left = !disarmed.ok
    ? disarmed.error
    : !dropped.ok
    ? dropped.error
    : !removed.ok
    ? removed.error.message
    : null;
  ports.log.write(
    left === null ? "info" : "warn",
    "upgrade_settled",
    left ?? "what an earlier upgrade left is cleared away",
  );
}
