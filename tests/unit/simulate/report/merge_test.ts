import assert from "node:assert/strict";
import fc from "fast-check";
import { percentile } from "../../../../simulate/report/histogram.ts";
import { mergeReports } from "../../../../simulate/report/merge.ts";
import { Report } from "../../../../simulate/report/report.ts";
import { reportOf } from "./report_of.ts";

function merged(reports: readonly Report[]): Report {
  const report = mergeReports(reports);
  assert.ok(report.ok, JSON.stringify(report));
  return Report.parse(report.value);
}

Deno.test("mergeReports: the samples of four shards give what one run would have", () => {
  const times = fc.array(fc.nat({ max: 100_000 }), { minLength: 1 });
  fc.assert(
    fc.property(fc.tuple(times, times, times, times), (shards) => {
      const whole = reportOf({ agents: 4, syncs: shards.flat() });
      const sum = merged(shards.map((syncs, index) => reportOf({ syncs, shard: [index, 4] })));
      assert.deepEqual(sum.endpoints.sync, whole.endpoints.sync);
      assert.deepEqual(sum.agents, whole.agents);
    }),
    { seed: 3, numRuns: 50 },
  );
});

Deno.test("mergeReports: errors, slices and states add up; the order of shards does not matter", () => {
  const one = reportOf({ syncs: [1, 2], errors: { http_503: 2, cut: 1 }, shard: [0, 2] });
  const other = reportOf({
    syncs: Array(8).fill(3),
    errors: { cut: 4 },
    states: { failing: 1 },
    shard: [1, 2],
  });
  const sum = merged([one, other]);
  const { run: _run, ...rest } = merged([other, one]);
  assert.deepEqual({ ...rest, run: sum.run }, sum);
  assert.deepEqual(sum.errors, { cut: 5, http_503: 2 });
  assert.deepEqual(sum.run.shards, { of: 2, included: [0, 1] });
  const slices = [...one.slices, ...other.slices];
  const inSlices = sum.slices.reduce((count, { sync }) => count + sync.count, 0);
  assert.equal(inSlices, slices.reduce((count, { sync }) => count + sync.count, 0));
  // The first shard's last slice is over before the other's: its agents stay as they were.
  assert.deepEqual(sum.slices.at(-1)?.states, { failing: 1, synced: 1 });
  assert.equal(percentile(sum.endpoints.sync?.response ?? assert.fail(), 100), 3000);
});

Deno.test("mergeReports: refuses what is no shard of the same run, and a shard given twice", () => {
  const first = reportOf({ shard: [0, 2] });
  const refused = (other: Report) => {
    const report = mergeReports([first, other]);
    return report.ok ? "" : report.error;
  };
  assert.match(refused(reportOf({ shard: [1, 2], seed: 2 })), /run\.seed is 1 in one report and 2/);
  assert.match(refused(reportOf({ shard: [1, 3] })), /run\.agents/);
  assert.match(refused(reportOf({ shard: [0, 2] })), /shard 0 is in more than one/);
  assert.match(refused({ ...reportOf({ shard: [1, 2] }), mode: "virtual" }), /mode/);
  assert.equal(refused(reportOf({ shard: [1, 2] })), "");
});
