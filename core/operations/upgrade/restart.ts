import { UPGRADE_FILE } from "../../state/paths.ts";
import type { Probe, StepEnd, StepTools } from "../definition.ts";
import { dropImage } from "./drop_image.ts";
import { planOf } from "./handed.ts";
import type { UpgradeParams } from "./params.ts";
import { readUpgrade, removeUpgrade, writeUpgrade } from "./record.ts";
import { armReturn, disarmReturn } from "./return_timer.ts";
import { isStaged } from "./stage_slot.ts";

type Tools = StepTools<UpgradeParams>;

/** How long the node has to go down after it was told to, milliseconds: services may stop slowly. */
export const DOWN_MS = 600_000;

/** A shutdown reaches all processes of a unit within this time, milliseconds. */
const TOLD_MS = 10_000;

/**
 * Starts the new image once. On the way nothing is lost by a cut: first the way back (the old image
 * is the default, the return's timer armed), then the record, then the one boot, then the reboot.
 */
export async function restart(tools: Tools): Promise<StepEnd> {
  const { id, ports, node } = tools;
  const { boot, disk, machine } = ports;
  const plan = planOf(tools.handed);
  const { from_entry, boot_entry } = plan;
  const staged = await isStaged(tools, plan);
  if (!staged.ok) return await undo(tools, staged.error);
  const { bootId, uptimeSeconds } = await machine.facts();
  if (bootId === null) return await undo(tools, "the kernel does not tell its boot ID");
  const armed = await armReturn(ports, node.gateMs);
  if (!armed.ok) return await undo(tools, `the way back cannot be armed: ${armed.error}`);
  const written = await writeUpgrade(disk, {
    operation: id,
    from_entry,
    to_entry: boot_entry,
    boot_id: bootId,
    uptime_s: uptimeSeconds,
  });
  if (!written.ok) return await undo(tools, written.error.message);
  const once = await boot.setOneShot(boot_entry);
  if (!once.ok) return await undo(tools, once.error.message);
  await tools.say(`${boot_entry} starts at the next boot, once; ${from_entry} stays the default`);
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

/** Takes everything back that would start the new image; what is left of it, for people. */
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
 * What the node shows of a restart that was cut short. In the same boot nothing has happened yet that
 * cannot be done again. In another one it has happened, whichever image came up: that is for the health
 * gate to judge. A record that is not there yet means that the new image cannot have been started; of one
 * that nobody can read, only the new image itself tells.
 */
export async function probeRestart(tools: Tools): Promise<Probe> {
  const { id, ports, handed } = tools;
  const { bootId } = await ports.machine.facts();
  const { entry } = await ports.boot.booted();
  const record = await readUpgrade(ports.disk);
  if (!record.ok || (record.value.kind !== "loaded" && record.value.kind !== "absent")) {
    const { boot_entry, from_entry } = planOf(handed);
    if (entry === boot_entry) return { kind: "completed", evidence: `${boot_entry} booted` };
    // Elsewhere the return stands: it leads back.
    const left = entry === from_entry ? await clearAway(tools) : "";
    const message =
      `${UPGRADE_FILE} cannot be read, and ${entry ?? "an image that is not known"} ` +
      `runs${left}; a new cluster.upgrade may follow`;
    return { kind: "unclear", message };
  }
  if (record.value.kind === "absent" || record.value.value.operation !== id) {
    return { kind: "not_begun" };
  }
  if (bootId === null) {
    return { kind: "unclear", message: "the kernel does not tell its boot ID" };
  }
  const { boot_id: before } = record.value.value;
  if (bootId === before) return { kind: "not_begun" };
  const evidence = `the boot ID was ${before} and is ${bootId}; ` +
    `${entry ?? "an image that is not known"} booted`;
  return { kind: "completed", evidence };
}
