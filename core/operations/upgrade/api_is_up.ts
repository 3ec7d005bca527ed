import type { StepTools } from "../definition.ts";
import { lookFor } from "../look_for.ts";
import type { UpgradeParams } from "./params.ts";

/** How long the API has to come up, milliseconds: the step may go on right after a boot. */
const API_MS = 120_000;

/** Whether the API answers, which it did when the operation began, at once or after a while. */
export async function apiIsUp(tools: StepTools<UpgradeParams>): Promise<boolean> {
  const { k8s } = tools.ports;
  const up = await lookFor(
    tools,
    "the Kubernetes API",
    API_MS,
    async () => await k8s.ready() ? true : null,
  );
  return up === true;
}
