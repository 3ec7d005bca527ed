import { printable } from "../../core/printable.ts";
import type { Verdict } from "./book.ts";
import type { Conformance } from "./run.ts";

/** How a report is written for people. */
export interface TextOptions {
  /** With the colours of a terminal. */
  readonly colour: boolean;
  /** Rules that hold, too. */
  readonly all: boolean;
}

const MARKS = { pass: ["pass", 32], fail: ["FAIL", 31], skip: ["skip", 33] } as const;
/** Where the lines below a rule begin. */
const INDENT = "        ";

/** A report for people: a line a rule, what went wrong below it, the sums at the end. */
export function conformanceText(report: Conformance, { colour, all }: TextOptions): string {
  const shown = report.rules.filter(({ verdict }) => all || verdict !== "pass");
  const width = Math.max(...report.rules.map(({ id }) => id.length));
  const lines = shown.flatMap((rule) => ruleLines(rule, width, colour));
  const { passed, failed, skipped, requests, duration_ms: duration } = report;
  const seconds = (duration / 1000).toFixed(1);
  return [
    ...lines,
    ...(lines.length === 0 ? [] : [""]),
    `${
      printable(report.portal)
    }: ${passed} rules hold, ${failed} do not, ${skipped} were not tried ` +
    `(${requests} requests in ${seconds} s)`,
    "",
  ].join("\n");
}

function ruleLines(rule: Verdict, width: number, colour: boolean): string[] {
  const [word, code] = MARKS[rule.verdict];
  const mark = colour ? `\x1b[${code}m${word}\x1b[0m` : word;
  const lines = [`${mark}  ${rule.paragraph}  ${rule.id.padEnd(width)}  ${rule.title}`];
  for (const { sent, came, expected } of rule.findings) {
    lines.push(`${INDENT}sent: ${printable(sent)}`);
    lines.push(`${INDENT}came: ${printable(came)}`);
    lines.push(`${INDENT}expected: ${printable(expected)}`);
  }
  if (rule.reason !== undefined) lines.push(`${INDENT}${printable(rule.reason)}`);
  if (rule.verdict === "skip" && rule.needs !== undefined) {
    lines.push(`${INDENT}to try it: ${rule.needs}`);
  }
  return lines;
}
