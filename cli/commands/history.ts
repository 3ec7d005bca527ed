import { createNodeDisk } from "../../adapters/node/disk.ts";
import { readHistory, since } from "../../core/agent/history_view.ts";
import type { Arguments } from "../arguments.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { historyText } from "../history_text.ts";
import { print } from "../print.ts";
import { sinceTime } from "../since.ts";

/** `pbx-agent history`: who ordered what, and by which proof. */
export async function history(args: Arguments): Promise<ExitCode> {
  const found = await readHistory(
    createNodeDisk(args.root === undefined ? {} : { root: args.root }),
  );
  if (!found.ok) {
    print("stderr", `pbx-agent: ${found.error}\n`);
    return EXIT.FAILED;
  }
  for (const problem of found.value.problems) print("stderr", `pbx-agent: ${problem}\n`);
  const entries = args.since === undefined
    ? found.value.entries
    : since(found.value.entries, sinceTime(args.since, Date.now()));
  print("stdout", args.json ? `${JSON.stringify(entries, null, 2)}\n` : historyText(entries));
  return EXIT.OK;
}
