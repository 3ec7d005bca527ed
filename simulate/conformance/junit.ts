import type { Verdict } from "./book.ts";
import type { Conformance } from "./run.ts";

/** The report as JUnit XML, which build servers read: a test case a rule, by paragraph. */
export function conformanceJunit(report: Conformance): string {
  const { rules, failed, skipped, duration_ms: duration, started_at: at, portal } = report;
  const sums = `tests="${rules.length}" failures="${failed}" skipped="${skipped}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="pbx portal conformance" ${sums} time="${duration / 1000}">`,
    `  <testsuite name="${attribute(portal)}" ${sums} timestamp="${attribute(at.slice(0, 19))}">`,
    ...rules.map(testCase),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function testCase(rule: Verdict): string {
  const { id, paragraph, title, verdict } = rule;
  const name = attribute(`${id}: ${title}`);
  const open = `    <testcase classname="protocol ${attribute(paragraph)}" name="${name}"`;
  if (verdict === "pass") return `${open}/>`;
  return `${open}>${verdict === "fail" ? failure(rule) : skipped(rule)}</testcase>`;
}

function failure({ findings }: Verdict): string {
  const texts = findings.map(({ sent, came, expected }) =>
    `sent: ${sent}\ncame: ${came}\nexpected: ${expected}`
  );
  const [first] = findings;
  const message = first === undefined ? "" : `${first.came}, expected ${first.expected}`;
  return `<failure message="${attribute(message)}">${content(texts.join("\n\n"))}</failure>`;
}

function skipped({ reason, needs }: Verdict): string {
  const help = needs === undefined ? undefined : `to try it: ${needs}`;
  const message = [reason, help].filter((text) => text !== undefined).join("; ");
  return `<skipped message="${attribute(message)}"/>`;
}

function attribute(text: string): string {
  return content(text).replaceAll('"', "&quot;").replaceAll("\n", "&#10;");
}

/** Escaped, and without what XML 1.0 cannot say at all. */
function content(text: string): string {
  return text
    // deno-lint-ignore no-control-regex -- these are what is taken out
    .replace(/[^\x09\x0a\x20-\ud7ff\ue000-\ufffd]/g, "�")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
