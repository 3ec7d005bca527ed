import { K3S_UNIT } from "../state/paths.ts";
import type { BoundContext } from "./context.ts";
import { custodyOfNode } from "./custody.ts";

/**
 * Remembers the boot. After a new one k3s is started where nothing did: its unit may not be enabled on
 * this image. Within a boot a stopped k3s stays stopped, because somebody stopped it.
 */
export async function noteBoot(context: BoundContext): Promise<void> {
  const { ports, store } = context;
  const { bootId } = await ports.machine.facts();
  const before = store.state.boot_id;
  if (bootId === null || bootId === before) return;
  await store.keep((state) => ({ ...state, boot_id: bootId }));
  const { first_start } = store.state;
  if (before === null || first_start === "configure" || first_start === "start") return;
  if ((await custodyOfNode(context)).who !== "agent") return;
  if (await ports.systemd.unitState(K3S_UNIT) !== "inactive") return;
  const started = await ports.systemd.start(K3S_UNIT);
  ports.log.write(
    started.ok ? "info" : "warn",
    "k3s_started_after_boot",
    started.ok
      ? `${K3S_UNIT} was not started by this boot, so the agent started it`
      : `${K3S_UNIT} does not start: ${started.error.message}`,
  );
}
