import { whyNotAgent } from "../state/custody.ts";
import { K3S_UNIT } from "../state/paths.ts";
import type { BoundContext } from "./context.ts";
import { custodyOfNode } from "./custody.ts";

/** What came of it: settled for this boot, or why it has to be tried again. */
export type BootNoted = { readonly done: true } | { readonly done: false; readonly why: string };

const DONE: BootNoted = { done: true };

/**
 * Starts k3s after a boot that did not: its unit may not be enabled on this image. The boot counts as noted
 * only once k3s was started or seen to run in it, so neither a kill nor a systemctl that fails leaves k3s
 * stopped; from then on a stopped k3s stays stopped, because somebody stopped it. To be repeated until it
 * is done.
 */
export async function noteBoot(context: BoundContext): Promise<BootNoted> {
  const { ports, store } = context;
  const { bootId } = await ports.machine.facts();
  if (bootId === null || bootId === store.state.boot_id) return DONE;
  const why = startsK3s(context) ? await startStopped(context) : null;
  if (why !== null) return { done: false, why };
  await store.keep((state) => ({ ...state, boot_id: bootId }));
  return DONE;
}

/** Whether a boot has to start k3s: not the first one of the agent, nor while the first start does it. */
function startsK3s({ store }: BoundContext): boolean {
  const { boot_id, first_start } = store.state;
  return boot_id !== null && first_start !== "configure" && first_start !== "start";
}

/** Starts k3s where this boot has not; why that has to be tried again, or null. */
async function startStopped(context: BoundContext): Promise<string | null> {
  const { systemd, log } = context.ports;
  const unit = await systemd.unitState(K3S_UNIT);
  if (unit === "unknown") return `systemd does not tell the state of ${K3S_UNIT}`;
  if (unit !== "inactive") return null;
  const whyNot = whyNotAgent(await custodyOfNode(context));
  if (whyNot !== null) return `${K3S_UNIT} is not started: ${whyNot}`;
  const started = await systemd.start(K3S_UNIT);
  if (!started.ok) return `${K3S_UNIT} does not start: ${started.error.message}`;
  const message = `${K3S_UNIT} was not started by this boot, so the agent started it`;
  log.write("info", "k3s_started_after_boot", message);
  return null;
}
