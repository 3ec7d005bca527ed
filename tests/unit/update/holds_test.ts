import assert from "node:assert/strict";
import { heldBy, hold, HOLD_MS, holdFor } from "../../../core/update/holds.ts";
import { NO_UPDATE, type UpdateRecord } from "../../../core/state/update_record.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const DAY = 86_400_000;

function held(reason: "check" | "run" | "rollback" | "trouble", record: UpdateRecord = NO_UPDATE) {
  return hold(record, "2.0.0", { reason, message: "m", now: NOW, fraction: 0.5 });
}

Deno.test("hold: evidence against a version holds it for six hours, and no other", () => {
  for (const reason of ["check", "run", "rollback"] as const) {
    const record = held(reason);
    assert.equal(heldBy(record, "2.0.0", NOW + HOLD_MS - 1).held?.reason, reason);
    assert.equal(heldBy(record, "2.0.0", NOW + HOLD_MS).held, null);
    assert.equal(heldBy(record, "2.0.1", NOW).held, null);
  }
});

Deno.test("hold: trouble is a backoff of 5 s to 300 s, which evidence ends", () => {
  let record = NO_UPDATE;
  const waits = [];
  for (let i = 0; i < 9; i++) {
    record = held("trouble", record);
    waits.push((Date.parse(record.holds["2.0.0"]?.again_at ?? "") - NOW) / 1000);
  }
  assert.deepEqual(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
  assert.equal(held("check", record).holds["2.0.0"]?.failures, 1);
  assert.equal(held("trouble", held("check")).holds["2.0.0"]?.failures, 1);
});

Deno.test("heldBy: a clock that is set back costs no more than the hold's own length", () => {
  const record = held("check");
  const back = heldBy(record, "2.0.0", NOW - DAY);
  assert.equal(back.held?.again_at, new Date(NOW - DAY + HOLD_MS).toISOString());
  assert.equal(heldBy(back.record, "2.0.0", NOW - DAY + HOLD_MS).held, null);
  const short = heldBy(held("trouble"), "2.0.0", NOW - DAY);
  assert.equal(short.held?.again_at, new Date(NOW - DAY + 5_000).toISOString());
});

Deno.test("hold: what a server asks for is waited out where it is longer than the backoff", () => {
  for (const [leastMs, waits] of [[1_000, 5_000], [90_000, 90_000]] as const) {
    const how = { reason: "trouble", message: "m", now: NOW, fraction: 0.5, leastMs } as const;
    const record = hold(NO_UPDATE, "2.0.0", how);
    assert.equal(heldBy(record, "2.0.0", NOW + waits - 1).held?.reason, "trouble");
    assert.equal(heldBy(record, "2.0.0", NOW + waits).held, null);
  }
});

Deno.test("holdFor: the monotonic clock moves a hold that was dated wrongly, and only that", () => {
  const record = held("rollback");
  assert.equal(holdFor(record, "2.0.0", HOLD_MS - 30_000, NOW), record);
  assert.equal(holdFor(record, "2.0.1", HOLD_MS, NOW + DAY), record);
  const moved = holdFor(record, "2.0.0", HOLD_MS - 100_000, NOW + DAY);
  assert.equal(
    moved.holds["2.0.0"]?.again_at,
    new Date(NOW + DAY + HOLD_MS - 100_000).toISOString(),
  );
  assert.equal(moved.holds["2.0.0"]?.at, new Date(NOW + DAY - 100_000).toISOString());
});

Deno.test("hold: remembers a bounded number of versions, the newest ones", () => {
  let record = NO_UPDATE;
  for (let i = 0; i < 50; i++) {
    record = hold(record, `1.0.${i}`, { reason: "run", message: "m", now: NOW, fraction: 0 });
  }
  assert.equal(Object.keys(record.holds).length, 20);
  assert.ok("1.0.49" in record.holds);
  assert.ok(!("1.0.29" in record.holds));
});
