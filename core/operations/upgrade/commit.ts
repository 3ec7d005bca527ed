import { droppedEntries, imageFolder } from "../../host/slots.ts";
import { PROGRAM_ENDS, type StepEnd, type StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import { dropParts } from "./fetch_image.ts";
import { planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";
import { removeUpgrade } from "./record.ts";
import { disarmReturn } from "./return_timer.ts";
import { takeBack } from "./take_back.ts";

/**
 * How long the boot loader may refuse to keep it, milliseconds. The return stands meanwhile: should its timer
 * be up first, the old image clears up.
 */
const PIN_MS = 15 * 60_000;

/**
 * Makes the proven image the default, for that it runs and no other. The return stands until then; the
 * entries kept are this one and the one that it came from.
 */
export async function commit(tools: StepTools<UpgradeParams>): Promise<StepEnd> {
  const { ports, say } = tools;
  const { boot, disk } = ports;
  const { from_entry, boot_entry } = planOf(tools.handed);
  const { entry } = await boot.booted();
  if (entry !== boot_entry) {
    const why =
      `${boot_entry} passed its health gate, and the node was restarted before it became the ` +
      `default: ${entry ?? "an image that is not known"} booted`;
    if (entry === from_entry) return await takeBack(tools, "fell_back", why);
    return { kind: "failed", code: "not_returned", message: why };
  }
  const refusal = await pin(tools, boot_entry);
  if (refusal !== null) {
    const message =
      `${boot_entry} is healthy and cannot be made the default, so that the next boot ` +
      `goes back to ${from_entry}: ${refusal}`;
    return { kind: "failed", code: "not_set", message };
  }
  // The new image is the default: from here on nothing is left to decide.
  const disarmed = await tools.complete("the return to be disarmed", () => disarmReturn(ports));
  if (disarmed === null) return PROGRAM_ENDS;
  const view = await boot.look();
  // The node is upgraded; what is older and cannot be dropped now, the next upgrade drops.
  if (!view.ok) await say(`older images stay: ${view.error.message}`);
  const dropped: string[] = [];
  for (const { id, path } of view.ok ? droppedEntries(view.value, [boot_entry, from_entry]) : []) {
    const removed = await disk.remove(path);
    if (removed.ok) dropped.push(id);
    else await say(removed.error.message);
  }
  if (view.ok) {
    await dropParts(disk, view.value);
    await disk.syncDirectory(imageFolder(view.value.esp));
  }
  const forgotten = await removeUpgrade(disk);
  if (!forgotten.ok) await say(forgotten.error.message);
  const gone = dropped.length === 0 ? "" : `; dropped: ${dropped.join(", ")}`;
  return { kind: "done", evidence: `${boot_entry} is the default, ${from_entry} is kept${gone}` };
}

/** Makes an entry the default: a healthy image is not given up for one call that failed. */
async function pin(tools: StepTools<UpgradeParams>, entry: string): Promise<string | null> {
  let why = "it was not tried";
  const done = await lookFor(tools, `${entry} to be the default`, PIN_MS, async () => {
    const pinned = await tools.ports.boot.setDefault(entry);
    if (!pinned.ok) why = pinned.error.message;
    return pinned.ok ? true : null;
  });
  return done === null ? why : null;
}
