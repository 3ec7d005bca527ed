import { rollBack } from "../../core/update/rollback.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { nodePorts } from "../node_ports.ts";
import { print } from "../print.ts";

/** `pbx-agent.prev rollback`, as the timer of an update runs it: takes the update back. */
export async function rollback(args: Arguments): Promise<ExitCode> {
  const done = await rollBack(nodePorts(args.root === undefined ? {} : { root: args.root }));
  if (!done.ok) {
    print("stderr", `pbx-agent: the update was not taken back: ${done.error}\n`);
    return EXIT.FAILED;
  }
  const nothing = "no update is on trial: nothing was changed\n";
  print("stdout", done.value === "nothing" ? nothing : "the update was taken back\n");
  return EXIT.OK;
}
