import { DROP_IN_PATHS, type DropIn, dropIns } from "../host/drop_ins.ts";
import {
  type DropInHashes,
  dropInHashes,
  mayRestart,
  type PendingRestart,
  pendingRestart,
} from "../host/restart.ts";
import type { Disk } from "../ports/disk.ts";
import { writeDocument } from "../state/durable.ts";
import { K3S_UNIT } from "../state/paths.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";

/** Drop-ins are small; a larger file is not one of ours. */
const MAX_DROP_IN_BYTES = 64 * 1024;

/**
 * Brings k3s's drop-ins to what the desired state says, and restarts k3s for them where that is allowed
 * now (operations.md, Converging: Host). What cannot be written is tried again in the next cycle.
 */
export async function convergeHost(context: BoundContext): Promise<void> {
  const desired = context.store.state.desired?.state;
  if (desired === undefined) return;
  for (const file of dropIns(desired.host)) await writeDropIn(context, file);
  await restartIfDue(context);
}

/** Whether k3s runs with other drop-ins than those on the disk. Before its first start: never. */
export async function readPendingRestart(disk: Disk, state: State): Promise<PendingRestart> {
  if (state.first_start === "configure" || state.first_start === "start") return { pending: false };
  return pendingRestart({ current: await readDropInHashes(disk), running: state.k3s_drop_ins });
}

/** The hashes of the agent's drop-ins as they are on the disk. */
export async function readDropInHashes(disk: Disk): Promise<DropInHashes> {
  const files: DropIn[] = [];
  for (const path of DROP_IN_PATHS) {
    const read = await disk.read(path, MAX_DROP_IN_BYTES);
    if (read.ok && read.value !== null) {
      files.push({ path, content: new TextDecoder().decode(read.value) });
    }
  }
  return dropInHashes(files);
}

async function writeDropIn(context: BoundContext, file: DropIn): Promise<void> {
  const { disk, log } = context.ports;
  const wanted = new TextEncoder().encode(file.content);
  const read = await disk.read(file.path, MAX_DROP_IN_BYTES);
  if (read.ok && read.value !== null && sameBytes(read.value, wanted)) return;
  const written = await writeDocument(disk, file.path, wanted);
  if (written.ok) {
    log.write("info", "drop_in_written", `${file.path} is what the desired state says`);
  } else {
    log.write("error", "drop_in_not_written", written.error.message);
  }
}

async function restartIfDue(context: BoundContext): Promise<void> {
  const { systemd, log } = context.ports;
  const pending = await readPendingRestart(context.ports.disk, context.store.state);
  if (!pending.pending) {
    await clearConditions(context, "k3s_restart_pending");
    return;
  }
  const decision = mayRestart({
    pending: true,
    maintenance: context.store.state.desired?.state.maintenance ?? null,
    now: correctedNow(context),
    operationRunning: runningId(context.store.state),
  });
  if (!decision.restart) {
    await raiseCondition(context, "k3s_restart_pending", `${pending.reason}; ${decision.why}`);
    return;
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
    return;
  }
  await context.store.keep((state) => ({ ...state, k3s_drop_ins: hashes }));
  await clearConditions(context, "k3s_restart_pending");
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/** The ID of the operation that runs; k3s is not restarted under it. */
function runningId({ operation }: State): string | null {
  return operation === null || operation.result !== undefined ? null : operation.id;
}
