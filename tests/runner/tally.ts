/** How many tests passed, failed and were left out. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly ignored: number;
}

/** The sum of several tallies. */
export function sum(tallies: readonly Tally[]): Tally {
  const add = (key: keyof Tally) => tallies.reduce((total, tally) => total + tally[key], 0);
  return { passed: add("passed"), failed: add("failed"), ignored: add("ignored") };
}

/** The tally in words, `12 passed, 0 failed`; what was left out is named only where there is some. */
export function inWords({ passed, failed, ignored }: Tally): string {
  return `${passed} passed, ${failed} failed${ignored === 0 ? "" : `, ${ignored} skipped`}`;
}

/**
 * The tally of a `deno test` run from what it printed and its exit code. A run that failed without
 * naming a failed test (an error while loading, a crash, no test at all) counts as one failure: it
 * must never look like a success.
 */
export function tallyOf(output: string, code: number): Tally {
  const summary = [...withoutColors(output).matchAll(SUMMARY)].at(-1)?.groups;
  const count = (name: string) => Number(summary?.[name] ?? 0);
  const tally = { passed: count("passed"), failed: count("failed"), ignored: count("ignored") };
  const isWhole = (code === 0) === (tally.failed === 0) &&
    tally.passed + tally.failed + tally.ignored > 0;
  return isWhole ? tally : { ...tally, failed: Math.max(1, tally.failed) };
}

/** `text` without the escape sequences that colour a terminal. */
export function withoutColors(text: string): string {
  // deno-lint-ignore no-control-regex -- the escape character is what is looked for
  return text.replaceAll(/\x1b\[[0-9;]*m/g, "");
}

const steps = String.raw`(?: \(\d+ steps?\))?`;
const SUMMARY = new RegExp(
  String.raw`^(?:ok|FAILED) \| (?<passed>\d+) passed${steps} \| (?<failed>\d+) failed${steps}` +
    String.raw`(?: \| (?<ignored>\d+) ignored)?`,
  "gm",
);
