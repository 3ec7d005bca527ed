import assert from "node:assert/strict";
import { judge, parseSlo } from "../../../../simulate/report/slo.ts";
import { reportOf } from "./report_of.ts";

const held = (
  slo: string,
  report = reportOf({ syncs: [10, 20, 600], errors: { http_503: 1 } }),
) => {
  const limits = parseSlo(slo);
  assert.ok(limits.ok, JSON.stringify(limits));
  return judge(report, limits.value).map(({ measured, held }) => ({ measured, held }));
};

Deno.test("judge: times in any unit, against what was measured since the request was due", () => {
  assert.deepEqual(held("sync.max<500ms, sync.max<=600ms,sync.p75<0.021s"), [
    { measured: 600, held: false },
    { measured: 600, held: true },
    { measured: 0.020015, held: true },
  ]);
  assert.deepEqual(held("sync.mean>157499us"), [{ measured: 157_500, held: true }]);
});

Deno.test("judge: errors as a number and as a share, of all requests, an endpoint, a code", () => {
  assert.deepEqual(held("errors<1"), [{ measured: 1, held: false }]);
  assert.deepEqual(held("errors<=25%"), [{ measured: 25, held: true }]);
  assert.deepEqual(held("sync.errors<2"), [{ measured: 1, held: true }]);
  assert.deepEqual(held("errors.http_503<1"), [{ measured: 1, held: false }]);
  assert.deepEqual(held("errors.timeout<1"), [{ measured: 0, held: true }]);
});

Deno.test("judge: agents, and faults of the agent itself", () => {
  const report = reportOf({ agents: 4, states: { synced: 3, failing: 1 } });
  assert.deepEqual(held("synced>=75%", report), [{ measured: 75, held: true }]);
  assert.deepEqual(held("synced>=4", report), [{ measured: 3, held: false }]);
  assert.deepEqual(held("enrolled>=100%", report), [{ measured: 100, held: true }]);
  assert.deepEqual(held("faults<1", report), [{ measured: 0, held: true }]);
});

Deno.test("judge: what was never measured is not held", () => {
  const report = reportOf({ syncs: [] });
  assert.deepEqual(held("events.p99<1s", report), [{ measured: null, held: false }]);
  assert.deepEqual(held("errors<1%", report), [{ measured: null, held: false }]);
});

for (
  const [slo, named] of [
    ["", "is no limit"],
    ["sync.p99", "is no limit"],
    ["sync.p99=5ms", "is no limit"],
    ["sync.p99<5", "needs a unit"],
    ["sync.p99<5%", "needs a unit"],
    ["sync.p101<5ms", "'p101'"],
    ["sync.fastest<5ms", "'fastest'"],
    ["sink.p99<5ms", "'sink'"],
    ["errors<5ms", "counted"],
    ["synced<5ms", "counted"],
    ["sync.p99<5ms,,errors<1", "''"],
  ] as const
) {
  Deno.test(`parseSlo: refuses '${slo}'`, () => {
    const limits = parseSlo(slo);
    assert.ok(!limits.ok && limits.error.includes(named), JSON.stringify(limits));
  });
}
