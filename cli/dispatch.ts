import { parseArguments, usage } from "./arguments.ts";
import { history } from "./commands/history.ts";
import { operations } from "./commands/operations.ts";
import { plan } from "./commands/plan.ts";
import { rollback } from "./commands/rollback.ts";
import { run } from "./commands/run.ts";
import { status } from "./commands/status.ts";
import { uninstall } from "./commands/uninstall.ts";
import { version } from "./commands/version.ts";
import type { Entry } from "./entry.ts";
import { EXIT, type ExitCode } from "./exit_codes.ts";
import { print } from "./print.ts";
import { rootRefusal } from "./root_refusal.ts";

/** Reads the arguments and runs the command; gives the exit code. */
export async function dispatch(args: readonly string[], entry: Entry): Promise<ExitCode> {
  if (args[0] === "simulate") return await simulateFleet(args.slice(1), entry);
  if (args[0] === "approval-text") return await makeApprovalText(args.slice(1));
  const parsed = parseArguments(args, entry.lab);
  if (!parsed.ok) {
    print("stderr", `pbx-agent: ${parsed.error}\n\n${usage(entry.lab)}`);
    return EXIT.USAGE;
  }
  const refusal = rootRefusal(parsed.value.root);
  if (refusal !== null) {
    print("stderr", `pbx-agent: ${refusal}\n`);
    return EXIT.FAILED;
  }
  try {
    switch (parsed.value.command) {
      case "run":
        return await run(parsed.value, entry);
      case "status":
        return await status(parsed.value);
      case "operations":
        return await operations(parsed.value);
      case "history":
        return await history(parsed.value);
      case "plan":
        return await plan(parsed.value, entry);
      case "version":
        return version(entry);
      case "uninstall":
        return await uninstall(parsed.value);
      case "rollback":
        return await rollback(parsed.value);
      case "help":
        print("stdout", usage(entry.lab));
        return EXIT.OK;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    print("stderr", `pbx-agent: ${parsed.value.command} failed: ${why}\n`);
    return EXIT.FAILED;
  }
}

async function makeApprovalText(args: readonly string[]): Promise<ExitCode> {
  const { approvalTextCommand } = await import("./commands/approval_text.ts");
  try {
    return await approvalTextCommand(args);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    print("stderr", `pbx-agent: approval-text failed: ${why}\n`);
    return EXIT.FAILED;
  }
}

/** Loaded only when it is asked for: the service starts without a line of it. */
async function simulateFleet(args: readonly string[], entry: Entry): Promise<ExitCode> {
  const { simulate } = await import("./commands/simulate.ts");
  try {
    // The lab's program trusts keys that anybody can read, and writes no files either.
    return await simulate(args, { releaseKeys: entry.releaseKeys, lab: false });
  } catch (error) {
    print(
      "stderr",
      `pbx-agent: simulate failed: ${error instanceof Error ? error.message : error}\n`,
    );
    return EXIT.FAILED;
  }
}
