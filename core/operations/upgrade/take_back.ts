import type { StepEnd, StepTools } from "../definition.ts";
import { dropImage } from "./drop_image.ts";
import { planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";
import { disarmReturn } from "./return_timer.ts";

/**
 * Ends an upgrade whose image was not proven, in the old image: the return is disarmed and the image that
 * failed goes. What cannot be cleared away does not change the result.
 */
export async function takeBack(
  tools: StepTools<UpgradeParams>,
  code: string,
  why: string,
): Promise<StepEnd> {
  const { ports, say } = tools;
  const { from, from_entry, boot_entry } = planOf(tools.handed);
  for (const left of [await disarmReturn(ports), await dropImage(ports, boot_entry)]) {
    if (!left.ok) await say(left.error);
  }
  const message = `the node runs ${from_entry} (release ${from}) as before: ${why}`;
  return { kind: "failed", code, message };
}
