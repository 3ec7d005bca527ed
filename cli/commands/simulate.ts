import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { conformance } from "../simulate/conformance.ts";
import { html } from "../simulate/html.ts";
import { merge } from "../simulate/merge.ts";
import { parseSimulateOptions, type SimulateEntry, simulateUsage } from "../simulate/options.ts";
import { runSimulation } from "../simulate/run_simulation.ts";

/** `simulate ...`, whatever program it is in. */
export async function simulate(
  args: readonly string[],
  entry: SimulateEntry,
): Promise<ExitCode> {
  if (args[0] === "merge") return await merge(args.slice(1), entry.lab);
  if (args[0] === "html") return await html(args.slice(1));
  if (args[0] === "conformance") return await conformance(args.slice(1), entry);
  if (args[0] === "restore" && entry.restore !== undefined) {
    return await entry.restore(args.slice(1));
  }
  if (entry.virtual !== undefined && args.includes("--virtual")) return await entry.virtual(args);
  const options = parseSimulateOptions(args, entry, environment);
  if (!options.ok) {
    print("stderr", `simulate: ${options.error}\n\n${simulateUsage(entry)}`);
    return EXIT.USAGE;
  }
  if (options.value === "help") {
    print("stdout", simulateUsage(entry));
    return EXIT.OK;
  }
  return await runSimulation(options.value, entry);
}

/** Undefined also where the program may not know. */
function environment(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    return undefined;
  }
}
