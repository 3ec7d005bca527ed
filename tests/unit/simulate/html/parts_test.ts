import assert from "node:assert/strict";
import * as figures from "../../../../simulate/html/figures.ts";
import { jsonForPage, markup } from "../../../../simulate/html/html.ts";
import { linearScale, logScale, scaleFor, timeScale } from "../../../../simulate/html/scale.ts";
import { timelineOf, total } from "../../../../simulate/html/timeline.ts";
import { sampleReport } from "./sample_report.ts";

Deno.test("markup: escapes what is no HTML already, joins lists, leaves null out", () => {
  const inner = markup`<b>${"<&>"}</b>`;
  assert.equal(
    markup`<p title="${`"'`}">${[inner, 1, null, "a"]}</p>`.toString(),
    '<p title="&quot;&#39;"><b>&lt;&amp;&gt;</b>1a</p>',
  );
});

Deno.test("jsonForPage: reads back the same and ends no element", () => {
  const value = { "</script>": "<!--&\u2028" };
  const text = jsonForPage(value).toString();
  assert.doesNotMatch(text, /[<>&\u2028]/);
  assert.deepEqual(JSON.parse(text), value);
});

Deno.test("figures: about three digits, with units, and nearly all is not all", () => {
  const cases: readonly (readonly [string, string])[] = [
    [figures.count(1_234_567.6), "1,234,568"],
    [figures.number(1_234.5), "1,235"],
    [figures.number(56.78), "56.8"],
    [figures.number(5.678), "5.68"],
    [figures.number(0.01234), "0.012"],
    [figures.number(60), "60"],
    [figures.milliseconds(0.4567), "0.46 ms"],
    [figures.milliseconds(4_560), "4.56 s"],
    [figures.milliseconds(180_000), "3 min"],
    [figures.duration(90_000), "90 s"],
    [figures.duration(7_500_000), "2 h 5 min"],
    [figures.duration(86_400_000), "1 d"],
    [figures.percent(0), "0 %"],
    [figures.percent(1), "100 %"],
    [figures.percent(0.999999), "99.9999 %"],
    [figures.percent(0.000123), "0.012 %"],
    [figures.percent(0.5), "50.0 %"],
    [figures.bytes(3 * 2 ** 29), "1.50 GiB"],
    [figures.elapsed(3_725_000), "1:02:05"],
    [figures.elapsed(65_000), "1:05"],
  ];
  for (const [shown, expected] of cases) assert.equal(shown, expected);
});

Deno.test("scales: lines at round values that hold everything", () => {
  assert.deepEqual(linearScale(87).ticks, [0, 25, 50, 75, 100]);
  assert.deepEqual(linearScale(0).ticks, [0, 0.25, 0.5, 0.75, 1]);
  assert.equal(linearScale(87).place(50), 0.5);
  assert.deepEqual(logScale(3, 40).ticks, [1, 2, 5, 10, 20, 50, 100]);
  assert.equal(logScale(1, 100).place(10), 0.5);
  assert.deepEqual(scaleFor(1, 61).ticks.slice(0, 2), [1, 2], "far apart: by logarithms");
  assert.equal(scaleFor(1, 60).ticks[0], 0);
  assert.deepEqual(timeScale(600_000).ticks.slice(0, 3), [0, 120_000, 240_000]);
  for (const hours of [0.001, 0.1, 1, 24, 1_000]) {
    const { ticks } = timeScale(hours * 3_600_000);
    assert.ok(ticks.length >= 2 && ticks.length <= 9, `${hours} h: ${ticks.length}`);
  }
});

Deno.test("timelineOf: a long run is joined without losing a request, and its rates stay", () => {
  const report = sampleReport(600);
  const timeline = timelineOf(report);
  assert.ok(timeline.length <= 240 && timeline.length >= 120, `${timeline.length}`);
  const sum = (counts: readonly Readonly<Record<string, number | undefined>>[]) =>
    counts.reduce((all, one) => all + total(one as Record<string, number>), 0);
  assert.equal(
    sum(timeline.map(({ requests }) => requests)),
    sum(report.slices.map(({ requests }) => requests)),
  );
  const syncs = report.slices.reduce((all, { sync }) => all + sync.count, 0);
  assert.equal(timeline.reduce((all, { sync }) => all + (sync?.count ?? 0), 0), syncs);
  assert.deepEqual(timeline.at(-1)?.states, report.slices.at(-1)?.states);
  assert.ok(timeline.every(({ spanMs }) => spanMs <= 25_000));
});
