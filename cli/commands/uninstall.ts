import { lockHolder } from "../../adapters/node/lock.ts";
import {
  carryOut,
  describeStep,
  holdInTheWay,
  isStepOwed,
  UNINSTALL_HELD_PLAN,
  UNINSTALL_PLAN,
  type UninstallStep,
  whyRefused,
} from "../../core/agent/uninstall.ts";
import type { Ports } from "../../core/ports/mod.ts";
import { LOCK_FILE, STATE_DIRECTORY } from "../../core/state/paths.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { nodePorts } from "../node_ports.ts";
import { print } from "../print.ts";

/** `pbx-agent uninstall`: says what it would remove; with --yes removes it. */
export async function uninstall(args: Arguments): Promise<ExitCode> {
  const rooted = args.root === undefined ? {} : { root: args.root };
  const ports = nodePorts(rooted);
  const hold = await holdInTheWay(ports);
  const plan = hold !== null && args.leaveHeld ? UNINSTALL_HELD_PLAN : UNINSTALL_PLAN;
  const isRefused = hold !== null && !args.leaveHeld;
  if (!args.yes) {
    if (isRefused) print("stdout", `with --yes it would refuse: ${whyRefused(hold)}`);
    else await printPlan(ports, plan);
    print("stdout", "Nothing was changed.\n");
    return EXIT.OK;
  }
  if (isRefused) {
    print("stderr", `refused, nothing was changed: ${whyRefused(hold)}`);
    return EXIT.FAILED;
  }

  let failed = 0;
  for (const [index, step] of plan.entries()) {
    if (step.kind !== "stop_and_disable" && plan[index - 1]?.kind === "stop_and_disable") {
      // An operation may have begun to hold k3s before the agent that runs it was stopped.
      const since = hold === null ? await holdInTheWay(ports) : null;
      if (since !== null) {
        print(
          "stderr",
          `refused, the agent is stopped and nothing was removed: ${whyRefused(since)}`,
        );
        return EXIT.FAILED;
      }
    }
    if ("path" in step && step.path === STATE_DIRECTORY) {
      // Looked at now: the units are stopped, and with the folder the lock goes.
      const holder = await lockHolder(LOCK_FILE, rooted);
      if (holder.held) {
        failed++;
        print(
          "stderr",
          `failed: a pbx-agent that systemd did not start still runs (process ${
            holder.pid ?? "unknown"
          }) and may ` +
            "write its files anew: end it\n",
        );
      }
    }
    const end = await carryOut(ports, step);
    const what = describeStep(step);
    if (end.kind === "failed") {
      failed++;
      print("stderr", `failed: ${what}: ${end.message}\n`);
      // What follows would take away what k3s is held by, or what tells of it.
      if (step.kind === "leave_held") break;
    } else {
      print("stdout", `${end.kind === "done" ? "done" : "nothing to do"}: ${what}\n`);
    }
  }
  print("stdout", `${STAYS}\n`);
  if (failed === 0) return EXIT.OK;
  print("stderr", `${failed} steps failed; run it again when their cause is gone\n`);
  return EXIT.FAILED;
}

async function printPlan(ports: Ports, plan: readonly UninstallStep[]): Promise<void> {
  print("stdout", "pbx-agent uninstall would:\n");
  for (const step of plan) {
    const owed = await isStepOwed(ports, step);
    print("stdout", `  ${describeStep(step)}${owed ? "" : " (not there)"}\n`);
  }
  print("stdout", `${STAYS}\nWith --yes it is carried out.\n`);
}

const STAYS = "k3s, its configuration and every Kubernetes object stay.";
