import type { Profile } from "../../simulate/profile/profile.ts";
import { runVirtual, type VirtualEnd } from "../../simulate/virtual/run_virtual.ts";
import { describeTime } from "../../simulate/virtual/trace.ts";
import { EXIT, type ExitCode } from "../exit_codes.ts";
import { print } from "../print.ts";
import { profileOf } from "./run_simulation.ts";
import { parseVirtualOptions, VIRTUAL_USAGE, type VirtualRunOptions } from "./virtual_options.ts";

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
  const end = await runVirtual({
    agents,
    durationMs,
    seed,
    profile,
    ...(trace === null
      ? {}
      : { trace: { node: trace, print: (line: string) => print("stdout", `${line}\n`) } }),
  });
  print("stderr", summary(end, agents, (performance.now() - begun) / 1000));
  for (const { rule, node, at, how } of end.violations) {
    print("stderr", `  ${describeTime(at)}  node ${node}  ${rule}: ${how}\n`);
  }
  const [first] = end.violations;
  if (first === undefined) return true;
  const replay = ["simulate --virtual", `--agents ${agents}`, `--duration ${options.duration}`]
    .concat(`--profile ${options.profile}`, `--seed ${seed}`, `--trace ${first.node}`).join(" ");
  print("stderr", `  replay: deno task ${replay}\n`);
  return false;
}

function summary(end: VirtualEnd, agents: number, seconds: number): string {
  const { counts, converged, elapsedMs, traceHash } = end;
  const { syncs = 0, requests = 0, faults = 0, events = 0 } = counts;
  const perSync = Math.round(seconds * 1e6 / Math.max(syncs, 1));
  return `seed ${end.seed}: ${converged} of ${agents} agents converged in ${
    describeTime(elapsedMs)
  }; ${syncs} syncs, ${requests} requests, ${faults} faults, ${events} events; ` +
    `${seconds.toFixed(1)} s, ${perSync} us a sync; trace ${traceHash}; ` +
    `${end.violations.length} rules broken\n`;
}
