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

/** How long a call of the API is tried again, milliseconds. */
const AGAIN_MS = 60_000;
/** Too much to do, or not there: the API itself asks to come again. */
const COME_AGAIN: readonly number[] = [429, 503, 504];

/** A call of the API, made again for a while where it is only away or has too much to do. */
export async function onceUp<P, T>(
  tools: StepTools<P>,
  call: () => Promise<Result<T, K8sError>>,
): Promise<Result<T, K8sError>> {
  let last = await call();
  if (last.ok || !asksToComeAgain(last.error)) return last;
  await tools.say(`${last.error.message}: trying again`);
  await lookFor(tools, "the Kubernetes API", AGAIN_MS, async () => {
    last = await call();
    return last.ok || !asksToComeAgain(last.error) ? true : null;
  });
  return last;
}

function asksToComeAgain(error: K8sError): boolean {
  return error.code === "unreachable" || COME_AGAIN.includes(error.status);
}
