import { runRestore } from "../../simulate/servers/restore_run.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { parseRestoreOptions, RESTORE_USAGE } from "./restore_options.ts";
import { restoreEndText, storyText } from "./restore_text.ts";

/** `simulate restore`: the restore of a cluster of several servers as one guided sequence. */
export async function simulateRestore(args: readonly string[]): Promise<ExitCode> {
  const parsed = parseRestoreOptions(args);
  if (!parsed.ok) {
    print("stderr", `simulate restore: ${parsed.error}\n\n${RESTORE_USAGE}`);
    return EXIT.USAGE;
  }
  if (parsed.value === "help") {
    print("stdout", RESTORE_USAGE);
    return EXIT.OK;
  }
  const { servers, seed, trouble, json } = parsed.value;
  const end = await runRestore({
    servers,
    seed,
    trouble,
    ...(json ? {} : { tell: (line) => print("stdout", storyText(line)) }),
  });
  print(
    "stdout",
    json ? `${JSON.stringify(end, null, 1)}\n` : restoreEndText(end, parsed.value),
  );
  return end.ok ? EXIT.OK : EXIT.FAILED;
}
