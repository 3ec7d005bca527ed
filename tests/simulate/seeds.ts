import process from "node:process";
import {
  builtInProfile,
  PROFILE_NAMES,
  type ProfileName,
} from "../../simulate/profile/built_in.ts";
import { runVirtual, type VirtualEnd } from "../../simulate/virtual/run_virtual.ts";

/** A small fleet for many seeds: everything goes wrong around it, often. */
export interface SeedOptions {
  readonly profile: ProfileName;
  readonly agents: number;
  readonly hours: number;
}

/** One seed to its end, or to the first rule that is broken. */
export function runSeed(
  seed: number,
  { profile, agents, hours }: SeedOptions,
): Promise<VirtualEnd> {
  return runVirtual({
    seed,
    agents,
    durationMs: hours * 3_600_000,
    profile: builtInProfile(profile),
    endAtFirst: true,
  });
}

/** What broke first, in one line with the command that replays it; null where nothing did. */
export function describeEnd(end: VirtualEnd, options: SeedOptions): string | null {
  const [first] = end.violations;
  if (first === undefined) return null;
  const replay = `deno task simulate --virtual --profile ${options.profile} ` +
    `--agents ${options.agents} --duration ${options.hours}h --seed ${end.seed} --trace ${first.node}`;
  return `seed ${end.seed}: ${first.rule}, node ${first.node}: ${first.how}\n  ${replay}`;
}

/**
 * `seeds.ts PROFILE AGENTS HOURS FROM TO`: runs seeds until one breaks a rule; one line of JSON about that
 * one, or about none.
 */
async function main([profile = "", agents, hours, from, to]: readonly string[]): Promise<void> {
  const name = PROFILE_NAMES.find((known) => known === profile);
  if (name === undefined) throw new Error(`no profile ${profile}`);
  const options = { profile: name, agents: Number(agents), hours: Number(hours) };
  for (let seed = Number(from); seed <= Number(to); seed++) {
    const end = await runSeed(seed, options);
    const [first] = end.violations;
    if (first === undefined) continue;
    return print(JSON.stringify({ seed, rule: first.rule, how: first.how }));
  }
  print(JSON.stringify({ seed: null }));
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (import.meta.main) await main(Deno.args);
