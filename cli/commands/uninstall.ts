import { lockHolder } from "../../adapters/node/lock.ts";
import { carryOut, describeStep, isStepOwed, UNINSTALL_PLAN } from "../../core/agent/uninstall.ts";
import { LOCK_FILE, STATE_DIRECTORY } from "../../core/state/paths.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { nodePorts } from "../node_ports.ts";
import { print } from "../print.ts";

/** `pbx-agent uninstall`: says what it would remove; with --yes removes it. */
export async function uninstall(args: Arguments): Promise<ExitCode> {
  const rooted = args.root === undefined ? {} : { root: args.root };
  const ports = nodePorts(rooted);
  if (!args.yes) {
    print("stdout", "pbx-agent uninstall would:\n");
    for (const step of UNINSTALL_PLAN) {
      const owed = await isStepOwed(ports, step);
      print("stdout", `  ${describeStep(step)}${owed ? "" : " (not there)"}\n`);
    }
    print("stdout", `${STAYS}\nNothing was changed. With --yes it is carried out.\n`);
    return EXIT.OK;
  }

  let failed = 0;
  for (const step of UNINSTALL_PLAN) {
    if (step.kind === "remove" && step.path === STATE_DIRECTORY) {
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
    } else {
      print("stdout", `${end.kind === "done" ? "done" : "nothing to do"}: ${what}\n`);
    }
  }
  print("stdout", `${STAYS}\n`);
  if (failed === 0) return EXIT.OK;
  print("stderr", `${failed} steps failed; run it again when their cause is gone\n`);
  return EXIT.FAILED;
}

const STAYS = "k3s, its configuration and every Kubernetes object stay.";
