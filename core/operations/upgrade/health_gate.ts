import { RETURN_MARK_FILE } from "../../state/paths.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { decideGate, type GateDecision, type GateFacts, uptimeAtReboot } from "./gate.ts";
import { planOf } from "./handed.ts";
import { healthFindings } from "./health.ts";
import type { UpgradeParams } from "./params.ts";
import { upgradeOf, type UpgradeRecord, writeUpgrade } from "./record.ts";
import { noteOrder, readOrders } from "./reboot_orders.ts";
import { disarmReturn, returnInThisBootOnly } from "./return_timer.ts";
import { waitForTheEnd } from "./restart.ts";
import { takeBack } from "./take_back.ts";

type Tools = StepTools<UpgradeParams>;

/** How often the node is looked at, milliseconds; in a short gate of a lab more often. */
const LOOK_MS = 5_000;

/**
 * Waits until the new image is healthy. Where it is not in time, the node is restarted into the old one,
 * and the operation ends there, with what was found here.
 */
export async function healthGate(tools: Tools): Promise<StepEnd> {
  const watch = openWatch(tools);
  let said = "";
  for (;;) {
    const facts = await watch.look();
    const decision = decideGate(facts);
    if (tools.signal.aborted) return { kind: "failed", code: "timeout", message: said };
    switch (decision.kind) {
      case "passed":
        return {
          kind: "done",
          evidence:
            `${facts.booted} booted, and after ${Math.round(facts.elapsedMs / 1000)} s the API, ` +
            "the Node on the new k3s and every Deployment of kube-system are well",
        };
      case "back":
        await noteBack(tools, facts.record, decision);
        return await takeBack(tools, decision.code, decision.why);
      case "lost":
        return await leaveToPeople(tools, decision.why);
      case "return":
        await returnToOld(tools, decision, facts);
        if (tools.signal.aborted) return { kind: "failed", code: "timeout", message: decision.why };
        break;
      case "wait":
        if (decision.why !== said) await tools.say(`the health gate waits: ${decision.why}`);
        said = decision.why;
        await tools.ports.clock.sleep(Math.min(LOOK_MS, facts.gateMs / 10), tools.signal);
    }
  }
}

/** Looks at the node again and again, and remembers since when it is healthy. */
function openWatch(tools: Tools) {
  const { id, ports, node } = tools;
  const { boot, clock, disk, machine } = ports;
  const { from_entry, boot_entry, k3s_version } = planOf(tools.handed);
  const startedAt = clock.monotonic();
  let healthySince: number | null = null;
  let base: number | null = null;
  let entry: string | null = null;

  return {
    async look(): Promise<GateFacts> {
      // It stays the same in a boot, and telling it means to hash the image.
      entry ??= (await boot.booted()).entry;
      const { bootId, uptimeSeconds } = await machine.facts();
      const record = await upgradeOf(disk, id);
      const { back } = await readOrders(disk, id);
      // The mark goes with the return; it cannot have gone in the old image, which never lets the timer come.
      const mark = await disk.stat(RETURN_MARK_FILE);
      const expected = { node: node.binding.node_name, k3sVersion: k3s_version, bootId };
      const isNew = entry === boot_entry;
      const findings = isNew ? await healthFindings(ports, expected) : [];
      const now = clock.monotonic();
      const uptime = uptimeSeconds ?? Math.floor((now - startedAt) / 1000);
      base ??= record?.gate_base_s ?? uptimeAtReboot(record?.uptime_s ?? null, uptime);
      if (isNew && bootId !== null) await noteGate(tools, record, bootId, base);
      if (!isNew || findings.length > 0) healthySince = null;
      else healthySince ??= now;
      return {
        fromEntry: from_entry,
        toEntry: boot_entry,
        booted: entry,
        bootId,
        // A kernel that tells of less time than passed before the agent's eyes is wrong.
        elapsedMs: Math.max((uptime - base) * 1000, now - startedAt),
        gateMs: node.gateMs,
        record,
        backOrdered: back,
        timerCame: mark.ok && mark.value === null,
        findings,
        healthyForMs: healthySince === null ? 0 : now - healthySince,
      };
    },
  };
}

/** The first boot of the new image is the one that the gate is about. */
async function noteGate(
  { ports, say }: Tools,
  record: UpgradeRecord | null,
  bootId: string,
  base: number,
): Promise<void> {
  if (record === null || record.gate_boot !== undefined) return;
  const gate = { gate_boot: bootId, gate_base_s: base };
  const written = await writeUpgrade(ports.disk, { ...record, ...gate });
  if (!written.ok) await say(written.error.message);
}

/** A person has to look at it, and no timer may restart the node under their hands. */
async function leaveToPeople({ ports, say, handed }: Tools, why: string): Promise<StepEnd> {
  const disarmed = await disarmReturn(ports);
  if (!disarmed.ok) await say(disarmed.error);
  const { from_entry } = planOf(handed);
  const message =
    `${why}; \`bootctl list\` shows what there is, and \`bootctl set-default ${from_entry}\` ` +
    "with a reboot leads back";
  return { kind: "failed", code: "not_returned", message };
}

/** What is found in the old image is kept: clearing up takes away what it was found by. */
async function noteBack(
  { ports, say }: Tools,
  record: UpgradeRecord | null,
  { code, why }: Extract<GateDecision, { kind: "back" }>,
): Promise<void> {
  if (record === null || record.back !== undefined) return;
  const written = await writeUpgrade(ports.disk, { ...record, back: { code, why } });
  if (!written.ok) await say(written.error.message);
}

/**
 * Restarts into the old image: once, whatever becomes of it. Why is on disk first, so that the operation
 * can say it there. Where the order cannot be noted it is not given, and where it is lost it is not
 * repeated: the return's timer, which runs in this boot, restarts the node then. From the order on the
 * timer does not start in a later boot, because that would be a second return.
 */
async function returnToOld(
  tools: Tools,
  { why }: Extract<GateDecision, { kind: "return" }>,
  { bootId, record, fromEntry }: GateFacts,
): Promise<void> {
  const { id, ports, say } = tools;
  const { boot, clock, disk, systemd } = ports;
  if (record !== null && record.verdict === undefined && bootId !== null) {
    const at = new Date(clock.now()).toISOString();
    const written = await writeUpgrade(disk, { ...record, verdict: { why, boot_id: bootId, at } });
    if (!written.ok) await say(written.error.message);
  }
  await say(`back to ${fromEntry}: ${why}`);
  const view = await boot.look();
  const isPinned = view.ok && view.value.default === fromEntry && view.value.oneShot === null;
  if (!isPinned) {
    for (const set of [await boot.setDefault(fromEntry), await boot.setOneShot(null)]) {
      if (!set.ok) await say(set.error.message);
    }
  }
  const bounded = await returnInThisBootOnly(ports);
  const noted = bounded.ok ? await noteOrder(disk, id, "back") : bounded;
  if (!noted.ok) {
    await say(`the return's timer restarts the node, because the agent may not: ${noted.error}`);
    return await clock.sleep(LOOK_MS, tools.signal);
  }
  const told = await systemd.reboot();
  if (!told.ok) await say(told.error.message);
  await waitForTheEnd(tools);
}
