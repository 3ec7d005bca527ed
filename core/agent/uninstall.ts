import type { Ports } from "../ports/mod.ts";
import {
  AGENT_UNIT,
  AGENT_UNIT_FILE,
  CONFIG_DIRECTORY,
  K3S_HOLD_DROP_IN,
  RETURN_UNITS,
  ROLLBACK_UNITS,
  STATE_DIRECTORY,
  SYSTEMD_DIRECTORY,
} from "../state/paths.ts";

/** One thing that an uninstallation does. */
export type UninstallStep =
  | { readonly kind: "stop_and_disable"; readonly unit: string }
  | { readonly kind: "remove"; readonly path: string }
  | { readonly kind: "daemon_reload" };

/** Units that come and go with updates and upgrades. */
const OWN_UNITS = [...ROLLBACK_UNITS, ...RETURN_UNITS];

/**
 * Everything that is removed (operations.md, Uninstall), in this order: the units first, so that nothing
 * starts what is being taken away; the state last but for the configuration, so that a run that is cut
 * short can be repeated. k3s, its configuration and every Kubernetes object stay.
 */
export const UNINSTALL_PLAN: readonly UninstallStep[] = [
  ...OWN_UNITS.map((unit) => ({ kind: "stop_and_disable", unit }) as const),
  { kind: "stop_and_disable", unit: AGENT_UNIT },
  ...OWN_UNITS.map((unit) =>
    ({
      kind: "remove",
      path: `${SYSTEMD_DIRECTORY}/${unit}`,
    }) as const
  ),
  { kind: "remove", path: AGENT_UNIT_FILE },
  { kind: "remove", path: K3S_HOLD_DROP_IN },
  { kind: "daemon_reload" },
  { kind: "remove", path: STATE_DIRECTORY },
  { kind: "remove", path: CONFIG_DIRECTORY },
];

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
    case "daemon_reload":
      return "reload systemd's units";
  }
}

/** Whether there is anything for the step to do now. */
export async function isStepOwed(ports: Ports, step: UninstallStep): Promise<boolean> {
  if (step.kind === "daemon_reload") return true;
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
    case "daemon_reload": {
      const reloaded = await ports.systemd.daemonReload();
      if (reloaded.ok || reloaded.error.code === "missing") return { kind: "done" };
      return { kind: "failed", message: reloaded.error.message };
    }
  }
}
