/**
 * The suites on real parts: `deno task test:real [NAME...]`, all of them without a name. A suite is
 * a file `tests/real/NAME_test.ts`. Prints what each has to say, whole, then `NAME: N passed, N failed`,
 * and the sum as the last line.
 *
 * Suites run one after the other, but for those with a line `// waits` in their file: they mostly wait,
 * and each runs in a lane of its own beside the others.
 *
 * Where something that a suite needs is missing, the suite is left out and says how to get it. With
 * CI or PBX_LAB set everything has to be there, and a suite that cannot run has failed.
 */
import { denoTest } from "../runner/deno_test.ts";
import { complain, say } from "../runner/say.ts";
import { inWords, sum, type Tally } from "../runner/tally.ts";
import { missingOf, neededBy } from "./needs.ts";

/** The longest that one suite may take; with PBX_LONG=1 some have more to do. */
const TIMEOUT_MS = Deno.env.has("PBX_LONG") ? 2_400_000 : 1_200_000;

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
  const busy: string[] = [];
  const lanes: string[][] = [];
  for (const name of names) {
    if (isWaiting(await Deno.readTextFile(pathOf(name)))) lanes.push([name]);
    else busy.push(name);
  }
  if (busy.length > 0) lanes.push(busy);
  const tallies = await Promise.all(lanes.map((lane) => runLane(lane, lanes.length > 1)));
  // Not one suite is a fault of the repository, not a success.
  return names.length === 0 ? { passed: 0, failed: 1, ignored: 0 } : sum(tallies);
}

/**
 * Runs suites one after the other. Beside another lane, what a suite says is printed when it ends, so that
 * lanes do not mix.
 */
async function runLane(names: readonly string[], isBeside: boolean): Promise<Tally> {
  const tallies: Tally[] = [];
  for (const name of names) {
    const said: string[] = [];
    const tally = await runSuite(name, isBeside ? (line) => void said.push(line) : say);
    [...said, `${name}: ${inWords(tally)}`].forEach(say);
    tallies.push(tally);
  }
  return sum(tallies);
}

async function runSuite(name: string, report: (line: string) => void): Promise<Tally> {
  const path = pathOf(name);
  const missing = await missingOf(neededBy(await Deno.readTextFile(path)));
  for (const why of missing) report(`${name} cannot run: ${why}`);
  if (missing.length > 0) return { passed: 0, failed: mustRun ? 1 : 0, ignored: mustRun ? 0 : 1 };
  return denoTest({
    cwd: Deno.cwd(),
    paths: [path],
    args: ["-A"],
    timeoutMs: TIMEOUT_MS,
    report,
  });
}

function isWaiting(source: string): boolean {
  return /^\/\/ waits$/m.test(source);
}

function pathOf(name: string): string {
  return `tests/real/${name.replaceAll("-", "_")}_test.ts`;
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
