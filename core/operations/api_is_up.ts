import { mayPass } from "../cluster/may_pass.ts";
import type { K8sError } from "../ports/k8s.ts";
import type { Result } from "../result.ts";
import type { StepTools } from "./definition.ts";
import { lookFor } from "./look_for.ts";

/** How long the API has to come up, milliseconds: a step may go on right after a boot. */
const API_MS = 120_000;

/** Whether the API answers, which it did when the operation began, at once or after a while. */
export async function apiIsUp<P>(tools: StepTools<P>): Promise<boolean> {
  const { k8s } = tools.ports;
  const up = await lookFor(
    tools,
    "the Kubernetes API",
    API_MS,
    async () => await k8s.ready() ? true : null,
  );
  return up === true;
}

/**
 * A call of the API, made again while its answer may pass, until the step's time limit. For calls that can
 * be repeated: a conflict (409) is one with another writer, and passes too.
 */
export async function onceUp<P, T>(
  tools: StepTools<P>,
  call: () => Promise<Result<T, K8sError>>,
): Promise<Result<T, K8sError>> {
  let last = await call();
  if (last.ok || !isWorthAnother(last.error)) return last;
  await tools.say(`${last.error.message}: trying again`);
  await tools.waitFor("the Kubernetes API", async () => {
    last = await call();
    return last.ok || !isWorthAnother(last.error) ? true : null;
  });
  return last;
}

function isWorthAnother(error: K8sError): boolean {
  return mayPass(error) || (error.code === "refused" && error.status === 409);
}
