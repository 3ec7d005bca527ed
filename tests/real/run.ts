/**
 * The suites on real parts: `deno task test:real [NAME...]`, all of them without a name. A suite is
 * a file `tests/real/NAME_test.ts`. Prints `NAME: N passed, N failed` for each and the sum as the
 * last line.
 *
 * Where something that a suite needs is missing, the suite is left out and says how to get it. With
 * CI or PBX_LAB set everything has to be there, and a suite that cannot run has failed.
 */
import { denoTest } from "../runner/deno_test.ts";
import { complain, say } from "../runner/say.ts";
import { inWords, sum, type Tally } from "../runner/tally.ts";
import { missingOf, neededBy } from "./needs.ts";

/** The longest that one suite may take; with PBX_LONG=1 some have more to do. */
const TIMEOUT_MS = Deno.env.has("PBX_LONG") ? 2_400_000 : 900_000;

const mustRun = Deno.env.has("CI") || Deno.env.has("PBX_LAB");

const suites = await readSuites();
const wanted = Deno.args.map(nameOf);
const unknown = wanted.filter((name) => !suites.includes(name));
if (unknown.length > 0) {
  complain(`no suite is called ${unknown.join(", ")}. There are: ${suites.join(", ")}`);
  Deno.exit(2);
}

const whole = await runSuites(wanted.length === 0 ? suites : wanted);
say(inWords(whole));
Deno.exitCode = whole.failed === 0 ? 0 : 1;

async function runSuites(names: readonly string[]): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const name of names) {
    const tally = await runSuite(name);
    say(`${name}: ${inWords(tally)}`);
    tallies.push(tally);
  }
  // Not one suite is a fault of the repository, not a success.
  return tallies.length === 0 ? { passed: 0, failed: 1, ignored: 0 } : sum(tallies);
}

async function runSuite(name: string): Promise<Tally> {
  const path = `tests/real/${name.replaceAll("-", "_")}_test.ts`;
  const missing = await missingOf(neededBy(await Deno.readTextFile(path)));
  for (const why of missing) say(`${name} cannot run: ${why}`);
  if (missing.length > 0) return { passed: 0, failed: mustRun ? 1 : 0, ignored: mustRun ? 0 : 1 };
  const paths = [path];
  return denoTest({ cwd: Deno.cwd(), paths, args: ["-A"], timeoutMs: TIMEOUT_MS, report: say });
}

async function readSuites(): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir("tests/real")) {
    if (name.endsWith("_test.ts")) names.push(nameOf(name.slice(0, -"_test.ts".length)));
  }
  return names.sort();
}

function nameOf(text: string): string {
  return text.replaceAll("_", "-");
}
