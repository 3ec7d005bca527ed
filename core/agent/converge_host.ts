import { DROP_IN_PATHS, type DropIn, dropIns } from "../host/drop_ins.ts";
import {
  type DropInHashes,
  dropInHashes,
  mayRestart,
  type PendingRestart,
  pendingRestart,
} from "../host/restart.ts";
import { openRestartWatch, type RestartWatch } from "../host/restart_watch.ts";
import { type nextWindow, openWindowSearch } from "../host/windows.ts";
import type { HostSettings } from "../protocol/desired_state.ts";
import type { Disk } from "../ports/disk.ts";
import { writeDocument } from "../state/durable.ts";
import { otherCluster, whyNotAgent } from "../state/custody.ts";
import { K3S_UNIT } from "../state/paths.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";
import { custodyBy, custodyOfNode, lookAtCluster } from "./custody.ts";

/** Drop-ins are small; a larger file is not one of ours. */
const MAX_DROP_IN_BYTES = 64 * 1024;
const UTF8 = new TextDecoder();

/** Keeps the host's configuration at the desired state (operations.md, Host). */
export interface HostKeeper {
  /**
   * Brings k3s's drop-ins to what the desired state says, and restarts k3s for them where that is allowed
   * now. What cannot be written is tried again in the next cycle.
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
  const hashesOf = openHasher();
  const watch = openRestartWatch();
  const search = openWindowSearch();
  let restart: { readonly at: number; isFresh: boolean } | null = null;
  let made: { readonly of: HostSettings; readonly files: readonly WantedFile[] } | null = null;

  function wanted(host: HostSettings): readonly WantedFile[] {
    if (made?.of === host) return made.files;
    const files = dropIns(host).map((file) => ({
      ...file,
      bytes: new TextEncoder().encode(file.content),
    }));
    made = { of: host, files };
    return files;
  }

  return {
    async converge(context) {
      const desired = context.store.state.desired?.state;
      if (desired === undefined) return;
      // Its k3s is another cluster's now: a drop-in would change that one at its next start.
      if (otherCluster(await custodyOfNode(context)) !== null) return;
      const files = wanted(desired.host);
      let isThere = true;
      for (const file of files) isThere = await writeDropIn(context, file) && isThere;
      // What was read to be compared need not be read again to be hashed.
      const current = isThere
        ? hashesOf(files)
        : await readDropInHashes(context.ports.disk, hashesOf);
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
    pending: ({ ports, store }) => readPendingRestart(ports.disk, store.state, hashesOf),
  };
}

/** How long k3s may take to be up again, milliseconds. */
const RESTART_MS = 180_000;

interface WantedFile extends DropIn {
  readonly bytes: Uint8Array;
}

/** Hashes drop-ins, each content once. */
function openHasher(): typeof dropInHashes {
  let last: readonly DropIn[] = [];
  let hashes = dropInHashes(last);
  return (files) => {
    const isSame = files.length === last.length &&
      files.every(({ path, content }, at) =>
        path === last[at]?.path && content === last[at].content
      );
    if (!isSame) {
      hashes = dropInHashes(files);
      last = files;
    }
    return hashes;
  };
}

/** Whether k3s runs with other drop-ins than those on the disk. Before its first start: never. */
export async function readPendingRestart(
  disk: Disk,
  state: State,
  hashesOf = dropInHashes,
): Promise<PendingRestart> {
  if (isBeforeStart(state)) return { pending: false };
  return restartPending(state, await readDropInHashes(disk, hashesOf));
}

function restartPending(state: State, current: DropInHashes): PendingRestart {
  if (isBeforeStart(state)) return { pending: false };
  return pendingRestart({ current, running: state.k3s_drop_ins });
}

function isBeforeStart({ first_start }: State): boolean {
  return first_start === "configure" || first_start === "start";
}

/** The hashes of the agent's drop-ins as they are on the disk. */
export async function readDropInHashes(
  disk: Disk,
  hashesOf = dropInHashes,
): Promise<DropInHashes> {
  const files: DropIn[] = [];
  for (const path of DROP_IN_PATHS) {
    const read = await disk.read(path, MAX_DROP_IN_BYTES);
    if (read.ok && read.value !== null) {
      files.push({ path, content: UTF8.decode(read.value) });
    }
  }
  return hashesOf(files);
}

/** Whether the file was there as it has to be; else it is written. */
async function writeDropIn(context: BoundContext, file: WantedFile): Promise<boolean> {
  const { disk, log } = context.ports;
  const read = await disk.read(file.path, MAX_DROP_IN_BYTES);
  if (read.ok && read.value !== null && sameBytes(read.value, file.bytes)) return true;
  const written = await writeDocument(disk, file.path, file.bytes);
  if (written.ok) {
    log.write("info", "drop_in_written", `${file.path} is what the desired state says`);
  } else {
    log.write("error", "drop_in_not_written", written.error.message);
  }
  return false;
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
    operationRunning: runningId(context.store.state),
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

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false;
  return true;
}

/** The ID of the operation that runs; k3s is not restarted under it. */
function runningId({ operation }: State): string | null {
  return operation === null || operation.result !== undefined ? null : operation.id;
}
