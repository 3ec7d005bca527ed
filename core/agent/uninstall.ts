import { readDatabase } from "../operations/restore/database.ts";
import { placeHoldDropIn, readHoldFile } from "../operations/restore/hold.ts";
import { oldData, readOrigin } from "../operations/restore/origin.ts";
import type { DiskError } from "../ports/disk.ts";
import type { Ports } from "../ports/mod.ts";
import { ok, type Result } from "../result.ts";
import type { Hold } from "../state/custody.ts";
import { writeDocument } from "../state/durable.ts";
import { openHistoryFile } from "../state/history_file.ts";
import { ownerOf } from "../state/owner.ts";
import {
  AGENT_UNIT,
  AGENT_UNIT_FILE,
  CONFIG_DIRECTORY,
  HISTORY_BEFORE_FILE,
  HISTORY_FILE,
  K3S_HELD_NOTE_FILE,
  K3S_HOLD_DROP_IN,
  K3S_HOLD_FILE,
  K3S_UNIT,
  OPERATIONS_DIRECTORY,
  RETURN_UNITS,
  ROLLBACK_UNITS,
  STATE_DIRECTORY,
  STATE_FILE,
  SYSTEMD_DIRECTORY,
} from "../state/paths.ts";

/** One thing that an uninstallation does. */
export type UninstallStep =
  | { readonly kind: "stop_and_disable"; readonly unit: string }
  | { readonly kind: "remove"; readonly path: string }
  /** Sees to it that k3s stays held without the agent, and that the node says why. */
  | { readonly kind: "leave_held" }
  /** Removes what is in a folder but for these. */
  | { readonly kind: "remove_others"; readonly path: string; readonly kept: readonly string[] }
  | { readonly kind: "daemon_reload" };

/** Units that come and go with updates and upgrades. */
const OWN_UNITS = [...ROLLBACK_UNITS, ...RETURN_UNITS];

/**
 * Everything that is removed (operations.md, Uninstall), in this order: the units first, so that nothing
 * starts what is being taken away; the state last but for the configuration, so that a run that is cut
 * short can be repeated. k3s, its configuration and every Kubernetes object stay.
 */
export const UNINSTALL_PLAN: readonly UninstallStep[] = [
  ...stopUnits(),
  ...removeUnits(),
  { kind: "remove", path: K3S_HOLD_DROP_IN },
  { kind: "daemon_reload" },
  { kind: "remove", path: STATE_DIRECTORY },
  { kind: "remove", path: CONFIG_DIRECTORY },
];

/**
 * The same on a node whose k3s is held, where the caller wants that: the hold, what makes systemd heed
 * it, the logs of the operations and a note stay. Without the hold k3s would start on half a database.
 */
export const UNINSTALL_HELD_PLAN: readonly UninstallStep[] = [
  ...stopUnits(),
  { kind: "leave_held" },
  ...removeUnits(),
  { kind: "daemon_reload" },
  {
    kind: "remove_others",
    path: STATE_DIRECTORY,
    kept: [
      K3S_HOLD_FILE,
      OPERATIONS_DIRECTORY,
      K3S_HELD_NOTE_FILE,
      HISTORY_FILE,
      HISTORY_BEFORE_FILE,
    ],
  },
  { kind: "remove", path: CONFIG_DIRECTORY },
];

function stopUnits(): readonly UninstallStep[] {
  return [...OWN_UNITS, AGENT_UNIT].map((unit) => ({ kind: "stop_and_disable", unit }));
}

function removeUnits(): readonly UninstallStep[] {
  const units = OWN_UNITS.map((unit) => `${SYSTEMD_DIRECTORY}/${unit}`);
  return [...units, AGENT_UNIT_FILE].map((path) => ({ kind: "remove", path }));
}

/** The hold that is in the way of an uninstallation; null where k3s is not held. */
export async function holdInTheWay({ disk }: Pick<Ports, "disk">): Promise<Hold | null> {
  const folder = await disk.stat(STATE_DIRECTORY);
  // Below anything but a folder there is no hold file, and what reads it would call that unreadable.
  if (folder.ok && folder.value?.kind !== "directory") return null;
  return await readHoldFile({ disk });
}

/** Why an uninstallation refuses, and what there is to do, for people. */
export function whyRefused(hold: Hold): string {
  return `k3s is held (${K3S_HOLD_FILE}): ${hold.why.trim() || "the file does not say why"}\n` +
    "A restore or a rejoin of this node is under way or failed half-way. Its database may be half " +
    "written: without the hold k3s would start on it, as an empty cluster or in a loop of crashes, " +
    "at every boot.\n" +
    "Let the operation end, or ask for a new cluster.restore or server.rejoin (docs/restore.md). " +
    "`pbx-agent uninstall --yes --leave-k3s-held` removes the agent and leaves k3s held.\n";
}

/** How a step went. `nothing`: there was nothing to do. */
export type StepEnd =
  | { readonly kind: "done" | "nothing" }
  | { readonly kind: "failed"; readonly message: string };

/** What a step is, for people. */
export function describeStep(step: UninstallStep): string {
  switch (step.kind) {
    case "stop_and_disable":
      return `stop and disable ${step.unit}`;
    case "remove":
      return `remove ${step.path}`;
    case "leave_held":
      return `leave k3s held (${K3S_HOLD_FILE}, ${K3S_HOLD_DROP_IN}) and say so in ${K3S_HELD_NOTE_FILE}`;
    case "remove_others":
      return `remove what is in ${step.path} but for ${step.kept.map(nameIn).join(", ")}`;
    case "daemon_reload":
      return "reload systemd's units";
  }
}

/** The name of a path in its folder. */
function nameIn(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether there is anything for the step to do now. */
export async function isStepOwed(ports: Ports, step: UninstallStep): Promise<boolean> {
  if (step.kind === "daemon_reload" || step.kind === "leave_held") return true;
  if (step.kind === "remove_others") {
    const others = await othersIn(ports, step);
    return !others.ok || others.value.length > 0;
  }
  const path = step.kind === "remove" ? step.path : `${SYSTEMD_DIRECTORY}/${step.unit}`;
  const found = await ports.disk.stat(path);
  return !found.ok || found.value !== null;
}

/** Carries out one step. It can be repeated, and works on broken or half-installed state. */
export async function carryOut(ports: Ports, step: UninstallStep): Promise<StepEnd> {
  switch (step.kind) {
    case "stop_and_disable": {
      if (!await isStepOwed(ports, step)) return { kind: "nothing" };
      const stopped = await ports.systemd.stop(step.unit);
      const disabled = await ports.systemd.disable(step.unit);
      for (const result of [stopped, disabled]) {
        // Without systemd there is no unit to stop.
        if (!result.ok && result.error.code !== "missing") {
          return { kind: "failed", message: result.error.message };
        }
      }
      return { kind: "done" };
    }
    case "remove": {
      const removed = await ports.disk.remove(step.path);
      if (!removed.ok) return { kind: "failed", message: removed.error.message };
      return { kind: removed.value ? "done" : "nothing" };
    }
    case "leave_held":
      return await leaveHeld(ports);
    case "remove_others": {
      const others = await othersIn(ports, step);
      if (!others.ok) return { kind: "failed", message: others.error.message };
      for (const path of others.value) {
        const removed = await ports.disk.remove(path);
        if (!removed.ok) return { kind: "failed", message: removed.error.message };
      }
      return { kind: others.value.length > 0 ? "done" : "nothing" };
    }
    case "daemon_reload": {
      const reloaded = await ports.systemd.daemonReload();
      if (reloaded.ok || reloaded.error.code === "missing") return { kind: "done" };
      return { kind: "failed", message: reloaded.error.message };
    }
  }
}

/** The paths in a folder that an uninstallation does not leave. */
async function othersIn(
  { disk }: Ports,
  { path, kept }: UninstallStep & { readonly kind: "remove_others" },
): Promise<Result<readonly string[], DiskError>> {
  const names = await disk.list(path);
  if (!names.ok) return names;
  const paths = (names.value ?? []).map((name) => `${path}/${name}`);
  return ok(paths.filter((one) => !kept.includes(one)));
}

/** The hold file alone holds nothing: systemd has to heed it. */
async function leaveHeld(ports: Ports): Promise<StepEnd> {
  const { disk } = ports;
  const hold = await readHoldFile(ports);
  if (hold === null) {
    return { kind: "failed", message: `${K3S_HOLD_FILE} is gone: k3s is not held` };
  }
  const there = await disk.stat(K3S_HOLD_DROP_IN);
  if (!there.ok || there.value === null) {
    const placed = await placeHoldDropIn(ports);
    const hasSystemd = placed.ok || placed.error.code !== "missing";
    if (!placed.ok && hasSystemd) return { kind: "failed", message: placed.error.message };
  }
  // Of an agent that was uninstalled before, the note tells more than what is left of it.
  const note = await disk.stat(K3S_HELD_NOTE_FILE);
  const state = await disk.stat(STATE_FILE);
  if (note.ok && note.value !== null && state.ok && state.value === null) {
    return { kind: "nothing" };
  }
  const origin = await readOrigin(disk);
  const old = origin === null ? null : oldData(origin, await readDatabase(disk));
  const bytes = new TextEncoder().encode(heldNote(hold, old));
  const written = await writeDocument(disk, K3S_HELD_NOTE_FILE, bytes);
  if (!written.ok) return { kind: "failed", message: written.error.message };
  await noteUninstalled(ports);
  return { kind: "done" };
}

/** The last entry of the history, which stays with the hold. Without it the uninstallation goes on. */
async function noteUninstalled({ disk, clock }: Ports): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  const entry = { at, certain: false, what: "uninstalled", by: { who: "root" } } as const;
  await openHistoryFile(disk).write([entry], await ownerOf(disk));
}

/** The note beside a hold that outlives the agent. */
function heldNote({ why, cluster }: Hold, old: string | null): string {
  return [
    "k3s does not start on this node, and that is on purpose.",
    "",
    "The hold says:",
    ...why.trim().split("\n").map((line) => `  ${line}`),
    "",
    "A restore or a rejoin was under way or had failed half-way when pbx-agent was uninstalled",
    "with --leave-k3s-held. The database in /var/lib/rancher/k3s/server/db may be half written.",
    ...(old === null ? [] : [`The data of before is whole in ${old}.`]),
    ...(cluster === null ? [] : [`kube-system of the cluster has the UID ${cluster}.`]),
    `What the operations did: ${OPERATIONS_DIRECTORY}.`,
    "",
    "To go on, one of these:",
    "  - Install pbx-agent again and ask for a cluster.restore (or a server.rejoin). It finds the",
    "    hold, does not start k3s before, and lifts the hold itself.",
    "  - Restore by k3s's own means: docs/restore.md of pbx-agent, Without a portal.",
    "",
    "Only once the database is whole:",
    `  rm ${K3S_HOLD_FILE} ${K3S_HOLD_DROP_IN}`,
    `  systemctl daemon-reload && systemctl start ${K3S_UNIT}`,
    "",
  ].join("\n");
}
