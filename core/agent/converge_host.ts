import {
  type DropInHashes,
  mayRestart,
  type PendingRestart,
  pendingRestart,
} from "../host/restart.ts";
import { openRestartWatch, type RestartWatch } from "../host/restart_watch.ts";
import { type nextWindow, openWindowSearch } from "../host/windows.ts";
import type { Disk } from "../ports/disk.ts";
import { otherCluster, whyNotAgent } from "../state/custody.ts";
import { K3S_UNIT } from "../state/paths.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";
import { custodyBy, custodyOfNode, lookAtCluster } from "./custody.ts";
import { openHostFiles, readDropInHashes } from "./host_files.ts";
import { runningOperation } from "../state/journal.ts";

/** Keeps the host's configuration at the desired state (operations.md, Host). */
export interface HostKeeper {
  /**
   * Brings k3s's drop-ins and registries.yaml to what the desired state says, and restarts k3s for them
   * where that is allowed now. What cannot be written is tried again in the next cycle.
   */
  converge(context: BoundContext): Promise<void>;
  /**
   * Whether k3s is still coming up from a restart of the agent's own, which systemd was only told of: no
   * operation that needs the API begins in it or is refused for it. `apiUp`: seen before this
   * cycle's converging.
   */
  isRestarting(context: BoundContext, apiUp: boolean): boolean;
  /** Whether k3s runs with other drop-ins than those on the disk. */
  pending(context: BoundContext): Promise<PendingRestart>;
}

/** A keeper that makes and hashes nothing twice: a cycle in which nothing differs only reads. */
export function openHostKeeper(): HostKeeper {
  const files = openHostFiles();
  const watch = openRestartWatch();
  const search = openWindowSearch();
  let restart: { readonly at: number; isFresh: boolean } | null = null;

  return {
    async converge(context) {
      const desired = context.store.state.desired?.state;
      if (desired === undefined) return;
      // Its k3s is another cluster's now: a drop-in would change that one at its next start.
      if (otherCluster(await custodyOfNode(context)) !== null) return;
      const current = await files.bring(context, desired.host);
      if (await restartIfDue(context, current, { watch, search })) {
        restart = { at: context.ports.clock.monotonic(), isFresh: true };
      }
    },
    isRestarting({ ports }, apiUp) {
      if (restart === null) return false;
      // What was seen before it was ordered says nothing of it.
      const isUp = apiUp && !restart.isFresh;
      if (isUp || ports.clock.monotonic() - restart.at >= RESTART_MS) restart = null;
      else restart.isFresh = false;
      return restart !== null;
    },
    pending: async ({ ports, store }) =>
      isBeforeStart(store.state)
        ? { pending: false }
        : restartPending(store.state, await files.hashes(ports.disk)),
  };
}

/** How long k3s may take to be up again, milliseconds. */
const RESTART_MS = 180_000;

/** Whether k3s runs with other drop-ins than those on the disk. Before its first start: never. */
export async function readPendingRestart(
  disk: Disk,
  state: State,
): Promise<PendingRestart> {
  if (isBeforeStart(state)) return { pending: false };
  return restartPending(state, await readDropInHashes(disk));
}

function restartPending(state: State, current: DropInHashes): PendingRestart {
  if (isBeforeStart(state)) return { pending: false };
  return pendingRestart({ current, running: state.k3s_drop_ins });
}

function isBeforeStart({ first_start }: State): boolean {
  return first_start === "configure" || first_start === "start";
}

/** True where k3s was told to restart just now. */
async function restartIfDue(
  context: BoundContext,
  current: DropInHashes,
  { watch, search }: { readonly watch: RestartWatch; readonly search: typeof nextWindow },
): Promise<boolean> {
  const { systemd, log, machine } = context.ports;
  const pending = restartPending(context.store.state, current);
  if (pending.pending && await watch.look(machine, current)) {
    log.write("info", "k3s_restarted", "k3s was started anew, and runs with every drop-in now");
    await context.store.keep((state) => ({ ...state, k3s_drop_ins: current }));
    await clearConditions(context, "k3s_restart_pending");
    return false;
  }
  if (!pending.pending) {
    watch.forget();
    await clearConditions(context, "k3s_restart_pending");
    return false;
  }
  const decision = mayRestart({
    pending: true,
    maintenance: context.store.state.desired?.state.maintenance ?? null,
    now: correctedNow(context),
    isCertain: context.time.isCertain(),
    operationRunning: runningOperation(context.store.state)?.id ?? null,
  }, search);
  if (!decision.restart) {
    await raiseCondition(context, "k3s_restart_pending", `${pending.reason}; ${decision.why}`);
    return false;
  }
  const stopped = await whyStopped(context);
  if (stopped !== null) {
    await raiseCondition(context, "k3s_restart_pending", `${pending.reason}; ${stopped}`);
    return false;
  }
  // Read before the restart: a drop-in that changes after it is pending again.
  const hashes = await readDropInHashes(context.ports.disk);
  log.write(
    "info",
    "k3s_restart",
    `${pending.reason}; inside the maintenance window: restarting k3s`,
  );
  const restarted = await systemd.restart(K3S_UNIT);
  if (!restarted.ok) {
    await raiseCondition(
      context,
      "k3s_restart_pending",
      `k3s could not be restarted: ${restarted.error.message}`,
    );
    return false;
  }
  await context.store.keep((state) => ({ ...state, k3s_drop_ins: hashes }));
  await clearConditions(context, "k3s_restart_pending");
  return true;
}

/** Why the agent does not restart k3s: it may not, or k3s was stopped, and a restart would start it. */
async function whyStopped({ ports, store }: BoundContext): Promise<string | null> {
  const whyNot = whyNotAgent(custodyBy(store.state, await lookAtCluster(ports)));
  if (whyNot !== null) return whyNot;
  return await ports.systemd.unitState(K3S_UNIT) === "inactive"
    ? `${K3S_UNIT} is stopped, and reads it when it is started`
    : null;
}
