import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { reportPage } from "../../../../simulate/html/page.ts";
import type { Report } from "../../../../simulate/report/report.ts";
import { hostileReport } from "./hostile_report.ts";
import { sampleReport } from "./sample_report.ts";

/** Its elements' names, and whether anything but the page's own would run. */
function elements(page: string): string[] {
  return [...page.matchAll(/<([a-z!/][^\s>]*)/gi)].map(([, name]) => String(name).toLowerCase());
}

Deno.test("reportPage: whatever a report says stays text", () => {
  const page = reportPage(hostileReport(20));
  const known = new Set(elements(reportPage(sampleReport(20))));
  const strange = elements(page).filter((name) => !known.has(name) && !known.has(`/${name}`));
  assert.deepEqual([...new Set(strange)].filter((name) => !["pre", "/pre"].includes(name)), []);
  assert.equal(page.match(/<img/gi), null);
  assert.equal(page.match(/<script>/g)?.length, 1, "the page's own script and no other");
  assert.doesNotMatch(page, /\u202e|alert\(1\)>/);
  assert.doesNotMatch(page, /\bNaN\b/, "times that are none spoil no chart");
  assert.ok(page.includes("&lt;img src=x onerror=alert(1)&gt;"), "it is shown all the same");
});

Deno.test("reportPage: nothing in it is loaded from anywhere, and its policy lets only its own script run", () => {
  const page = reportPage(sampleReport());
  assert.doesNotMatch(page, /\s(?:src|srcset|action|poster)=|@import|url\(|<iframe|<object|<form/i);
  const links = [...page.matchAll(/\shref="([^"]*)"/g)].map(([, href]) => href);
  assert.deepEqual(links, ["data:,"]);
  const script = /<script>([\s\S]*?)<\/script>/.exec(page)?.[1] ?? "";
  const hash = createHash("sha256").update(script).digest("base64");
  assert.ok(page.includes(`script-src 'sha256-${hash}';`));
  assert.ok(page.includes("default-src 'none';"));
});

Deno.test("reportPage: a usual report is under 200 KB, one of hours as well", () => {
  for (const slices of [120, 2_000]) {
    const page = reportPage(sampleReport(slices));
    assert.ok(page.length < 200_000, `${slices} slices: ${page.length} bytes`);
  }
});

Deno.test("reportPage: says in words what was run, what held and what did not", () => {
  const page = reportPage(sampleReport());
  for (
    const text of [
      "<h1>1,000 agents for 10 min</h1>",
      "1 of 2 limits did not hold.",
      "Failed requests under 0.1 % (it was 0.21 %).",
      "reports, 99 % of them under 500 ms",
      "snapshot.save",
      "38 succeeded, 2 failed",
    ]
  ) assert.ok(page.includes(text), text);
  const held = sampleReport();
  const good = reportPage({ ...held, slo: held.slo.slice(0, 1) });
  assert.ok(good.includes("The limit held."));
  assert.ok(reportPage({ ...held, slo: [] }).includes("No limits were set,"));
  const faulty = { ...held, faults: [{ agent: "a-1", message: "two operations at once" }] };
  assert.ok(reportPage(faulty).includes("Faults of the agent itself."));
  const signalled: Report = { ...held, run: { ...held.run, ended_by: "signal" } };
  assert.ok(reportPage(signalled).includes("It was told to end before its time"));
  const part = { ...held.run, shards: { of: 4, included: [0, 2] } };
  assert.ok(reportPage({ ...held, run: part }).includes("2 of 4 shards"));
});

Deno.test("reportPage: a run without slices, requests or agents is a page, too", () => {
  const report = sampleReport(1);
  const bare: Report = {
    ...report,
    slices: [],
    endpoints: {},
    errors: {},
    provoked: {},
    operations: {},
    happenings: {},
    resources: null,
    agents: { included: 0, started: 0, enrolled: 0, states: {} },
  };
  assert.ok(reportPage(bare).includes("The run was too short for a chart."));
  for (const page of [reportPage(bare), reportPage(report)]) {
    assert.doesNotMatch(page, /NaN|Infinity|undefined/);
  }
});
