import type { Probe, StepEnd, StepTools } from "../definition.ts";
import { dropImage } from "./drop_image.ts";
import { patiently } from "../patiently.ts";
import { planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";
import { noteOrder, readOrders } from "./reboot_orders.ts";
import { type RebootEvidence, type RebootVerdict, rebootVerdict } from "./reboot_verdict.ts";
import { readUpgrade, removeUpgrade, writeUpgrade } from "./record.ts";
import { armReturn, disarmReturn } from "./return_timer.ts";
import { isStaged } from "./stage_slot.ts";

type Tools = StepTools<UpgradeParams>;

/** How long the node has to go down after it was told to, milliseconds: services may stop slowly. */
export const DOWN_MS = 600_000;

/** A shutdown reaches all processes of a unit within this time, milliseconds. */
const TOLD_MS = 10_000;

/**
 * Starts the new image once. The first run is judged by the evidence as every later one is: state.json
 * may have been put back to a moment before this step, and the node may have rebooted since.
 */
export async function restart(tools: Tools): Promise<StepEnd> {
  const probe = await probeRestart(tools);
  switch (probe.kind) {
    case "not_begun":
      return await goDown(tools);
    case "completed":
      return { kind: "done", evidence: probe.evidence };
    case "unclear":
      return { kind: "failed", code: "unclear", message: probe.message };
  }
}

/**
 * Reboots into the new image. A cut on the way loses nothing: first the way back (the old image is the
 * default, the return's timer is armed), then the record, the one-shot entry, the note that the reboot is
 * ordered, and last the order itself.
 */
async function goDown(tools: Tools): Promise<StepEnd> {
  const { id, ports, node } = tools;
  const { boot, disk, machine } = ports;
  const plan = planOf(tools.handed);
  const { from_entry, boot_entry } = plan;
  const staged = await isStaged(tools, plan);
  if (!staged.ok) return await undo(tools, staged.error);
  const { bootId, uptimeSeconds } = await machine.facts();
  if (bootId === null) return await undo(tools, "the kernel does not tell its boot ID");
  const armed = await patiently(
    tools,
    "the disk to take the way back",
    () => armReturn(ports, node.gateMs),
  );
  if (!armed.ok) return await undo(tools, `the way back cannot be armed: ${armed.error.message}`);
  const record = {
    operation: id,
    from_entry,
    to_entry: boot_entry,
    boot_id: bootId,
    uptime_s: uptimeSeconds,
  };
  const written = await patiently(
    tools,
    "the disk to take the record",
    () => writeUpgrade(disk, record),
  );
  if (!written.ok) return await undo(tools, written.error.message);
  const once = await boot.setOneShot(boot_entry);
  if (!once.ok) return await undo(tools, once.error.message);
  await tools.say(`${boot_entry} starts at the next boot, once; ${from_entry} stays the default`);
  const noted = await noteOrder(disk, id, "there");
  if (!noted.ok) return await undo(tools, `the reboot cannot be noted: ${noted.error}`);
  const told = await ports.systemd.reboot();
  if (!told.ok) {
    // The shutdown that systemctl began ends it as well, maybe before this program hears of it.
    await ports.clock.sleep(TOLD_MS, tools.signal);
    return await undo(tools, told.error.message);
  }
  await waitForTheEnd(tools);
  return await undo(tools, "the node was told to restart and did not");
}

/** Waits until the agent is ended by the shutdown. */
export async function waitForTheEnd({ ports, signal }: Tools): Promise<void> {
  const until = ports.clock.monotonic() + DOWN_MS;
  while (!signal.aborted && ports.clock.monotonic() < until) {
    await ports.clock.sleep(5_000, signal);
  }
}

/** Ends the operation where the node does not go down. */
async function undo(tools: Tools, why: string): Promise<StepEnd> {
  const { signal } = tools;
  // The program ends, as it should: the node goes down.
  if (signal.aborted) return { kind: "failed", code: "reboot_failed", message: why };
  const rest = await clearAway(tools);
  return { kind: "failed", code: "reboot_failed", message: `the old image runs on: ${why}${rest}` };
}

/** Takes everything back that would start the new image; what could not be taken back, as the end of a message. */
async function clearAway(tools: Tools): Promise<string> {
  const { ports } = tools;
  const left: string[] = [];
  const cleared = await ports.boot.setOneShot(null);
  if (!cleared.ok) left.push(cleared.error.message);
  const { boot_entry } = planOf(tools.handed);
  for (const done of [await disarmReturn(ports), await dropImage(ports, boot_entry)]) {
    if (!done.ok) left.push(done.error);
  }
  const removed = await removeUpgrade(ports.disk);
  if (!removed.ok) left.push(removed.error.message);
  return left.length === 0 ? "" : `; what was prepared is not taken back: ${left.join("; ")}`;
}

/**
 * What the node shows of the reboot (see {@link rebootVerdict}). Where it may still go down, the agent
 * waits for that before it judges: a shutdown can end and restart the agent before it ends the node. What
 * is unclear leaves nothing behind that would start the new image.
 */
export async function probeRestart(tools: Tools): Promise<Probe> {
  let verdict = await lookAtReboot(tools);
  if (verdict.kind === "unclear" && verdict.mayGoDown) {
    await tools.say(`the reboot was ordered and the node may still go down: ${verdict.message}`);
    await waitForTheEnd(tools);
    if (!tools.signal.aborted) verdict = await lookAtReboot(tools);
  }
  if (verdict.kind !== "unclear") return verdict;
  const { message } = verdict;
  if (tools.signal.aborted) return { kind: "unclear", message };
  const left = await leaveOld(tools);
  return { kind: "unclear", message: `${message}${left}; a new cluster.upgrade may follow` };
}

async function lookAtReboot({ id, ports, handed }: Tools): Promise<RebootVerdict> {
  const { boot, disk, machine } = ports;
  const plan = planOf(handed);
  const { bootId, uptimeSeconds } = await machine.facts();
  const { entry } = await boot.booted();
  const view = await boot.look();
  const found = await readUpgrade(disk);
  const { there } = await readOrders(disk, id);
  return rebootVerdict({
    ordered: there,
    record: recordEvidence(found, id),
    bootId,
    uptimeSeconds,
    fromEntry: plan.from_entry,
    toEntry: plan.boot_entry,
    booted: entry,
    loader: view.ok ? { oneShot: view.value.oneShot, default: view.value.default } : null,
  });
}

function recordEvidence(
  found: Awaited<ReturnType<typeof readUpgrade>>,
  id: string,
): RebootEvidence["record"] {
  if (!found.ok) return { kind: "unreadable" };
  if (found.value.kind === "absent") return { kind: "absent" };
  if (found.value.kind !== "loaded") return { kind: "unreadable" };
  const { operation, boot_id, uptime_s } = found.value.value;
  if (operation !== id) return { kind: "absent" };
  return { kind: "whole", bootId: boot_id, uptimeSeconds: uptime_s };
}

/**
 * Leaves the node so that it restarts into the old image only. Where the old image runs, all of the
 * upgrade goes; anywhere else the return stays armed, because it leads back, once.
 */
async function leaveOld(tools: Tools): Promise<string> {
  const { boot } = tools.ports;
  const { from_entry, boot_entry } = planOf(tools.handed);
  const { entry } = await boot.booted();
  const view = await boot.look();
  if (!view.ok || view.value.default === boot_entry) await boot.setDefault(from_entry);
  if (entry === from_entry) return await clearAway(tools);
  const cleared = await boot.setOneShot(null);
  return cleared.ok ? "" : `; the one-shot entry cannot be cleared: ${cleared.error.message}`;
}
