import { imageFolder } from "../../host/slots.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { dropParts } from "./fetch_image.ts";
import { planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";
import { disarmReturn } from "./return_timer.ts";

/**
 * Ends an upgrade whose image was not proven, in the old image: the return is disarmed, and the image that
 * failed goes, so that nothing starts it and the next upgrade has room. What cannot be cleared away does
 * not change the result.
 */
export async function takeBack(
  tools: StepTools<UpgradeParams>,
  code: string,
  why: string,
): Promise<StepEnd> {
  const { ports, say } = tools;
  const { from, from_entry, boot_entry } = planOf(tools.handed);
  const disarmed = await disarmReturn(ports);
  if (!disarmed.ok) await say(disarmed.error);
  const view = await ports.boot.look();
  if (!view.ok) await say(view.error.message);
  else {
    const { esp, default: pinned, oneShot } = view.value;
    if (oneShot === boot_entry) await ports.boot.setOneShot(null);
    if (pinned === from_entry) {
      const folder = imageFolder(esp);
      const removed = await ports.disk.remove(`${folder}/${boot_entry}`);
      if (!removed.ok) await say(removed.error.message);
      await dropParts(tools, view.value);
      await ports.disk.syncDirectory(folder);
    }
  }
  const message = `the node runs ${from_entry} (release ${from}) as before: ${why}`;
  return { kind: "failed", code, message };
}
