/**
 * `deno task nightly [SEEDS]`: a thousand seeds of a small fleet in simulated time, two thousand with clocks
 * that step, then every planted fault, then clusters with several servers, operations that are cut and whose
 * clock steps at every call, then the suites on real parts at their full length. Ends with the line
 * `N passed, N failed`.
 */
import { denoTest } from "../runner/deno_test.ts";
import { say } from "../runner/say.ts";
import { inWords, sum, type Tally } from "../runner/tally.ts";
import { describeFound, plantedFaults, searchFault } from "./planted.ts";
import { LONG_TESTS } from "./long_tests.ts";
import { describeEnd, runSeed, type SeedOptions } from "./seeds.ts";

const SEEDS = Number(Deno.args[0] ?? 1_000);
/** A quarter of a second each where nothing else runs. */
const SERVERS_TIMEOUT_MS = 3 * 60 * 60_000;
/** About ten minutes where nothing else runs. */
const CUTS_TIMEOUT_MS = 60 * 60_000;
const ROUGH: SeedOptions = { profile: "rough", agents: 2, hours: 4 };
const CLOCKS: SeedOptions = { profile: "clocks", agents: 2, hours: 4 };

const tallies = [
  await runSeeds(SEEDS, ROUGH),
  await runSeeds(2 * SEEDS, CLOCKS),
  await searchAll(),
  await runSeveralServers(),
  await runCutMatrices(),
  await runRealParts(),
];
const whole = sum(tallies);
say(inWords(whole));
Deno.exitCode = whole.failed === 0 ? 0 : 1;

/** Every seed counts; those that break a rule are told with the command that replays them. */
async function runSeeds(seeds: number, options: SeedOptions): Promise<Tally> {
  let failed = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const broken = describeEnd(await runSeed(seed, options), options);
    if (broken === null) continue;
    failed += 1;
    say(broken);
  }
  const tally = { passed: seeds - failed, failed, ignored: 0 };
  return told(`seeds of ${options.profile}`, tally);
}

/** A fault that is planted and not found is a hole in the simulation. */
async function searchAll(): Promise<Tally> {
  let failed = 0;
  const faults = plantedFaults();
  for (const fault of faults) {
    const found = await searchFault(fault);
    if (found.seed === null) failed += 1;
    say(describeFound(fault, found));
  }
  return told("planted faults", { passed: faults.length - failed, failed, ignored: 0 });
}

/** What the default tests play a sample of: every file that knows PBX_LONG, but for several servers. */
async function runCutMatrices(): Promise<Tally> {
  Deno.env.set("PBX_LONG", "1");
  const tally = await denoTest({
    cwd: Deno.cwd(),
    paths: LONG_TESTS,
    args: ["--no-check", "-A"],
    timeoutMs: CUTS_TIMEOUT_MS,
    report: say,
  });
  return told("cuts", tally);
}

/** Clusters of three and five servers in trouble, twice as many seeds: they are short. */
async function runSeveralServers(): Promise<Tally> {
  Deno.env.set("PBX_SEEDS", `1-${2 * SEEDS}`);
  const tally = await denoTest({
    cwd: Deno.cwd(),
    paths: ["tests/unit/servers/several_servers_test.ts"],
    args: ["--no-check", "-A"],
    timeoutMs: SERVERS_TIMEOUT_MS,
    report: say,
  });
  return told("several servers", tally);
}

async function runRealParts(): Promise<Tally> {
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "test:real"],
    env: { PBX_LONG: "1" },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  const isGood = code === 0;
  return told("real parts", { passed: isGood ? 1 : 0, failed: isGood ? 0 : 1, ignored: 0 });
}

function told(name: string, tally: Tally): Tally {
  say(`-- ${name}: ${inWords(tally)}`);
  return tally;
}
