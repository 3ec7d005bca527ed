import assert from "node:assert/strict";
import { counted, fullUntil, heldBy, hold, HOLD_MS, MAX_HELD } from "../../../core/update/holds.ts";
import { NO_UPDATE, type UpdateRecord } from "../../../core/state/update_record.ts";
import type { Witnesses } from "../../../core/state/witnesses.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const LIVED = 700 * 3_600_000;
const DAY = 86_400_000;

/** What the clocks say some time after the hold began: all the same, unless told otherwise. */
function after(
  ms: number,
  { wall = ms, lived = ms, isCertain = true }: {
    wall?: number;
    lived?: number;
    isCertain?: boolean;
  } = {},
): Witnesses {
  return { now: NOW + wall, isCertain, livedMs: LIVED + lived };
}

function held(reason: "check" | "run" | "rollback" | "trouble", record: UpdateRecord = NO_UPDATE) {
  return hold(record, "2.0.0", { reason, message: "m", witnesses: after(0), fraction: 0.5 });
}

const iso = (ms: number) => new Date(ms).toISOString();

Deno.test("hold: evidence against a version holds it for six hours, and no other", () => {
  for (const reason of ["check", "run", "rollback"] as const) {
    const record = held(reason);
    assert.equal(heldBy(record, "2.0.0", after(HOLD_MS - 1))?.reason, reason);
    assert.equal(heldBy(record, "2.0.0", after(HOLD_MS)), null);
    assert.equal(heldBy(record, "2.0.1", after(0)), null);
  }
});

Deno.test("hold: no single clock ends it, and no time that is uncertain", () => {
  const record = held("rollback");
  for (
    const witnesses of [
      after(35_000, { wall: 3.3 * DAY }),
      after(35_000, { lived: 3.3 * DAY }),
      after(HOLD_MS, { isCertain: false }),
      after(HOLD_MS, { lived: HOLD_MS - 1 }),
      after(HOLD_MS, { wall: HOLD_MS - 1 }),
    ]
  ) {
    assert.notEqual(heldBy(record, "2.0.0", witnesses), null, JSON.stringify(witnesses));
    const kept = counted(record, witnesses);
    assert.notEqual(heldBy(kept, "2.0.0", after(36_000)), null, JSON.stringify(witnesses));
    assert.equal(heldBy(kept, "2.0.0", after(HOLD_MS)), null, JSON.stringify(witnesses));
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

Deno.test("hold: trouble is waited out by the monotonic clock, whatever another one shows", () => {
  const record = held("trouble");
  for (const wall of [-DAY, 0, DAY]) {
    for (const isCertain of [true, false]) {
      const look = (lived: number) => {
        const witnesses = after(lived, { wall, isCertain });
        return heldBy(counted(record, witnesses), "2.0.0", witnesses);
      };
      assert.notEqual(look(4_999), null);
      assert.equal(look(5_000), null);
    }
  }
});

Deno.test("hold: what a server asks for is waited out where it is longer than the backoff", () => {
  for (const [leastMs, waits] of [[1_000, 5_000], [90_000, 90_000]] as const) {
    const how = { message: "m", witnesses: after(0), fraction: 0.5, leastMs };
    const record = hold(NO_UPDATE, "2.0.0", { reason: "trouble", ...how });
    assert.equal(heldBy(record, "2.0.0", after(waits - 1))?.reason, "trouble");
    assert.equal(heldBy(record, "2.0.0", after(waits)), null);
  }
});

Deno.test("counted: a hold from the future begins now, by that clock", () => {
  const back = counted(held("check"), after(1_000, { wall: -DAY }));
  assert.equal(back.holds["2.0.0"]?.at, iso(NOW - DAY));
  assert.equal(back.holds["2.0.0"]?.again_at, iso(NOW - DAY + HOLD_MS));
  assert.equal(heldBy(back, "2.0.0", after(HOLD_MS + 1_000, { wall: HOLD_MS - DAY })), null);
});

Deno.test("counted: a hold that counted no lived time does so from now on", () => {
  const { lived_ms: _, ...old } = held("rollback").holds["2.0.0"] ?? assert.fail();
  const record = { ...NO_UPDATE, holds: { "2.0.0": old } };
  assert.notEqual(heldBy(record, "2.0.0", after(7 * DAY)), null);
  const kept = counted(record, after(5 * 3_600_000));
  assert.equal(kept.holds["2.0.0"]?.again_at, iso(NOW + 5 * 3_600_000 + HOLD_MS));
  assert.equal(heldBy(kept, "2.0.0", after(5 * 3_600_000 + HOLD_MS)), null);
});

Deno.test("counted: a life that a crash forgot in part begins the hold with this look", () => {
  const kept = counted(held("rollback"), after(60_000, { lived: -600_000 }));
  assert.equal(kept.holds["2.0.0"]?.lived_ms, LIVED - 600_000);
  assert.notEqual(heldBy(kept, "2.0.0", after(HOLD_MS, { lived: HOLD_MS - 600_001 })), null);
  assert.equal(heldBy(kept, "2.0.0", after(HOLD_MS, { lived: HOLD_MS - 600_000 })), null);
});

Deno.test("counted: nothing changes while the clocks agree, or are close", () => {
  const record = held("rollback");
  assert.deepEqual(counted(record, after(3_600_000)), record);
  assert.deepEqual(counted(record, after(3_600_000, { lived: 3_570_000 })), record);
  assert.deepEqual(counted(record, after(0, { wall: DAY, isCertain: false })), record);
});

Deno.test("counted: a machine that was off waits for as long as it has not lived, and says so", () => {
  const kept = counted(held("rollback"), after(DAY, { lived: 3_600_000 }));
  assert.equal(kept.holds["2.0.0"]?.again_at, iso(NOW + DAY + HOLD_MS - 3_600_000));
  assert.equal(kept.holds["2.0.0"]?.at, iso(NOW));
});

function many(reason: "run" | "trouble", count: number): UpdateRecord {
  let record: UpdateRecord = NO_UPDATE;
  for (let i = 0; i < count; i++) {
    const how = { message: "m", witnesses: after(i), fraction: 0 };
    record = hold(record, `1.0.${i}`, { reason, ...how });
  }
  return record;
}

Deno.test("hold: no version that failed is dropped for the number of them; another one waits", () => {
  const record = many("run", MAX_HELD);
  assert.equal(Object.keys(record.holds).length, MAX_HELD);
  assert.notEqual(heldBy(record, "1.0.0", after(1_000)), null);
  assert.equal(fullUntil(record, after(1_000)), iso(NOW + HOLD_MS));
  assert.equal(fullUntil(record, after(HOLD_MS)), null);
  assert.equal(fullUntil(many("run", MAX_HELD - 1), after(1_000)), null);
});

Deno.test("hold: remembers the trouble of a bounded number of versions, the newest ones", () => {
  const record = many("trouble", 50);
  assert.equal(Object.keys(record.holds).length, 20);
  assert.ok("1.0.49" in record.holds);
  assert.ok(!("1.0.29" in record.holds));
  assert.equal(fullUntil(many("trouble", MAX_HELD), after(1)), null);
});
