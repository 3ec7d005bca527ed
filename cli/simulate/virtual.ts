import { cpuUsage } from "node:process";
import type { Profile } from "../../simulate/profile/profile.ts";
import { runVirtual } from "../../simulate/virtual/run_virtual.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { profileOf } from "./run_simulation.ts";
import { parseVirtualOptions, VIRTUAL_USAGE, type VirtualRunOptions } from "./virtual_options.ts";
import { virtualEndJson, virtualEndText } from "./virtual_text.ts";

/** An agent's usual rhythm, milliseconds. */
const CYCLE_MS = 30_000;
/** A run that takes longer tells how far it is, this often; milliseconds. */
const TELL_MS = 10_000;

/** `simulate --virtual`: runs seeds in simulated time, and says which of them broke a rule. */
export async function simulateVirtual(args: readonly string[]): Promise<ExitCode> {
  const options = parseVirtualOptions(args);
  if (!options.ok) {
    print("stderr", `simulate: ${options.error}\n\n${VIRTUAL_USAGE}`);
    return EXIT.USAGE;
  }
  if (options.value === "help") {
    print("stdout", VIRTUAL_USAGE);
    return EXIT.OK;
  }
  const profile = await profileOf(options.value.profile);
  if (!profile.ok) {
    print("stderr", `simulate: ${profile.error}\n`);
    return EXIT.USAGE;
  }
  let code: ExitCode = EXIT.OK;
  const { seed, seeds } = options.value;
  for (let one = seed; one < seed + seeds; one++) {
    if (!await runOne(options.value, profile.value, one)) code = EXIT.FAILED;
  }
  return code;
}

/** One seed; whether every rule held. */
async function runOne(
  options: VirtualRunOptions,
  profile: Profile,
  seed: number,
): Promise<boolean> {
  const { agents, durationMs, trace } = options;
  const begun = performance.now();
  const used = cpuUsage();
  let told = begun;
  const end = await runVirtual({
    agents,
    durationMs,
    seed,
    profile,
    threads: options.threads ?? threadsFor(options),
    onProgress(share) {
      const now = performance.now();
      if (now - told < TELL_MS) return;
      told = now;
      const seconds = ((now - begun) / 1000).toFixed(0);
      print("stderr", `seed ${seed}: ${Math.floor(100 * share)} % after ${seconds} s\n`);
    },
    ...(trace === null
      ? {}
      : { trace: { node: trace, print: (line: string) => print("stdout", `${line}\n`) } }),
  });
  const { user, system } = cpuUsage(used);
  const took = { seconds: (performance.now() - begun) / 1000, cpuUs: user + system };
  if (options.json) print("stdout", virtualEndJson(end, options, took));
  else print("stderr", virtualEndText(end, options, took));
  return end.violations.length === 0;
}

/** Threads that are worth their own beginning, which takes as long as some thousand syncs. */
function threadsFor({ agents, durationMs }: VirtualRunOptions): number {
  const syncs = agents * durationMs / CYCLE_MS;
  return Math.max(1, Math.min(navigator.hardwareConcurrency, Math.floor(syncs / 10_000)));
}
