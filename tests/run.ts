/**
 * The default tests: `deno task test [KIND...]`. Every kind runs in a process of its own; what they
 * covered of core is measured over all of them. Ends with the line `N passed, N failed`.
 */
import { parseArgs } from "node:util";
import { coreCoverage, type FileCoverage, percent, total } from "./runner/coverage.ts";
import { denoTest } from "./runner/deno_test.ts";
import { type Kind, KINDS } from "./runner/kinds.ts";
import { complain, say } from "./runner/say.ts";
import { table } from "./runner/table.ts";
import { inWords, sum, type Tally } from "./runner/tally.ts";

/** Of core, in percent. */
const LEAST = { lines: 95, branches: 90 } as const;
const TIMEOUT_MS = 720_000;

type Row = { readonly name: string; readonly tally: Tally; readonly seconds: number };

const passed: Tally = { passed: 1, failed: 0, ignored: 0 };
const failed: Tally = { passed: 0, failed: 1, ignored: 0 };

const { values, positionals } = parseArgs({
  args: Deno.args,
  options: { "coverage-by-file": { type: "boolean", default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !(name in KINDS));
if (unknown.length > 0) {
  complain(`unknown kind of test: ${unknown.join(", ")}. There are: ${Object.keys(KINDS)}`);
  Deno.exit(2);
}
const all = Object.keys(KINDS) as Kind[];
const kinds = positionals.length === 0 ? all : all.filter((kind) => positionals.includes(kind));

const profiles = await Deno.makeTempDir({ prefix: "pbx-agent-coverage-" });
try {
  const rows = [await timed("types", checkTypes)];
  rows.push(...await inLanes(kinds));
  const files = await coreCoverage(Deno.cwd(), profiles).catch((error) => {
    say(String(error));
    return [];
  });
  if (values["coverage-by-file"]) say(byFile(files));
  // A part of the tests covers a part of core: only the whole is held to the limits.
  const isWhole = kinds.length === all.length;
  for (const measure of ["lines", "branches"] as const) {
    const reached = percent(total(files.map((file) => file[measure])));
    say(`core coverage, ${measure}: ${reached.toFixed(1)} % (at least ${LEAST[measure]} %)`);
    const tally = files.length > 0 && reached >= LEAST[measure] ? passed : failed;
    if (isWhole) rows.push({ name: `coverage, ${measure}`, tally, seconds: 0 });
  }
  say(table(rows.map(({ name, tally, seconds }) => [name, inWords(tally), `${seconds} s`])));
  const whole = sum(rows.map(({ tally }) => tally));
  say(inWords(whole));
  Deno.exitCode = whole.failed === 0 ? 0 : 1;
} finally {
  await Deno.remove(profiles, { recursive: true });
}

/** What computes runs beside what mostly waits: two cores are busy with half of either. */
async function inLanes(chosen: readonly Kind[]): Promise<Row[]> {
  const found = new Map<Kind, Row>();
  await Promise.all([true, false].map(async (computes) => {
    for (const kind of chosen.filter((one) => KINDS[one].computes === computes)) {
      found.set(kind, await timed(kind, () => runKind(kind)));
    }
  }));
  return [...found].sort(([one], [other]) => chosen.indexOf(one) - chosen.indexOf(other))
    .map(([, row]) => row);
}

async function timed(name: string, run: () => Promise<Tally>): Promise<Row> {
  say(`-- ${name} begins`);
  const start = performance.now();
  const tally = await run();
  const seconds = Math.round((performance.now() - start) / 1000);
  say(`-- ${name}: ${inWords(tally)} in ${seconds} s`);
  return { name, tally, seconds };
}

/** All at once, so that the kinds need not check what they share again and again. */
async function checkTypes(): Promise<Tally> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["check", "--quiet", "--frozen", "core", "adapters", "simulate", "cli", "tests"],
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  return success ? passed : failed;
}

function runKind(kind: Kind): Promise<Tally> {
  const { paths, args, covers } = KINDS[kind];
  const measured = covers ? [`--coverage=${profiles}`, "--coverage-raw-data-only"] : [];
  return denoTest({
    cwd: Deno.cwd(),
    paths,
    args: ["--no-check", ...measured, ...args],
    timeoutMs: TIMEOUT_MS,
    report: say,
  });
}

function byFile(files: readonly FileCoverage[]): string {
  const rows = files.map(({ path, lines, branches }) => [
    path,
    `${percent(lines).toFixed(1)} %`,
    `${percent(branches).toFixed(1)} %`,
  ]);
  return table([["file", "lines", "branches"], ...rows]);
}
