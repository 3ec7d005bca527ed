import assert from "node:assert/strict";
import fc from "fast-check";
import {
  anchorOf,
  bridge,
  CONFIRM_MS,
  type Doubt,
  isStep,
  judgeTold,
  known,
} from "../../../core/agent/corrected_time.ts";
import { NO_CLOCK } from "../../../core/state/clock_record.ts";

const NOW = Date.parse("2026-06-01T12:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const BOOT = { id: "boot-1", uptimeMs: 500_000 };
const RECORD = { lived_ms: 0, anchor: anchorOf(NOW, NOW, BOOT) };

/** The uptime `ms` after the anchor. */
const after = (ms: number) => ({ id: "boot-1", uptimeMs: BOOT.uptimeMs + ms });

Deno.test("bridge: within a boot the uptime carries the time on, whatever the wall clock says", () => {
  for (const step of [-20 * 365 * DAY, -DAY, -2 * MINUTE, 2 * MINUTE, DAY, 20 * 365 * DAY]) {
    const bridged = bridge(RECORD, 0, NOW + MINUTE + step, after(MINUTE));
    assert.deepEqual(bridged, { corrected: NOW + MINUTE + 1_000, doubt: { kind: "step" } });
  }
});

Deno.test("bridge: slewing is no step", () => {
  const week = 7 * DAY;
  for (const drift of [-0.0005, 0, 0.0005]) {
    const bridged = bridge(RECORD, 0, NOW + week * (1 + drift), after(week));
    assert.equal(bridged.doubt, null);
    assert.ok(Math.abs(bridged.corrected - NOW - week) <= week * 0.0005);
  }
});

Deno.test("bridge: over a boot only the wall clock can, and nothing is certain", () => {
  const byWall = { corrected: NOW + 5_000, doubt: { kind: "boot" } };
  assert.deepEqual(bridge(RECORD, 5_000, NOW, { id: "boot-2", uptimeMs: 10_000 }), byWall);
  assert.deepEqual(bridge(RECORD, 5_000, NOW, { id: null, uptimeMs: null }), byWall);
  assert.deepEqual(bridge(RECORD, 5_000, NOW, { id: "boot-1", uptimeMs: null }), byWall);
  // The boot ID of a cloned machine may be the same: an uptime that is less says otherwise.
  assert.deepEqual(bridge(RECORD, 5_000, NOW, after(-1_000)), byWall);
  assert.deepEqual(bridge(NO_CLOCK, 5_000, NOW, BOOT), byWall);
});

Deno.test("bridge: an uptime that stands still carries nothing", () => {
  const bridged = bridge(RECORD, 0, NOW + DAY, after(0));
  assert.deepEqual(bridged, { corrected: NOW + DAY, doubt: { kind: "boot" } });
});

Deno.test("known: an offset in doubt is signed with after a start, and stays in doubt", () => {
  const doubted = { ...RECORD, offset_in_doubt: true };
  const start = { wall: NOW + MINUTE, monotonic: 77 };
  const doubt = { kind: "answer", since: 77 };
  assert.deepEqual(known(doubted, DAY, start, after(MINUTE)), {
    expected: NOW + MINUTE + DAY,
    certain: NOW + MINUTE,
    doubt,
  });
  assert.deepEqual(known(doubted, DAY, start, { id: "boot-2", uptimeMs: 10_000 }), {
    expected: NOW + MINUTE + DAY,
    certain: null,
    doubt,
  });
  assert.deepEqual(known(RECORD, DAY, start, after(MINUTE)), {
    expected: NOW + MINUTE,
    certain: NOW + MINUTE,
    doubt: null,
  });
});

Deno.test("bridge: never goes back behind a request that was signed just before the restart", () => {
  for (const wall of [-30_000, -200, 0, 200, 1_900, 30_000]) {
    for (const uptime of [0, 1_000, 2_000]) {
      // The uptime has whole seconds: up to one more has passed than it says.
      const signed = NOW + Math.max(uptime, Math.min(wall, uptime + 999));
      const { corrected } = bridge(RECORD, 0, NOW + wall, after(uptime));
      assert.ok(corrected >= signed, `${wall} ${uptime}`);
    }
  }
});

Deno.test("anchorOf: is stored only where it can be read again", () => {
  assert.equal(anchorOf(NOW, NOW, { id: null, uptimeMs: 1 }), null);
  assert.equal(anchorOf(NOW, NOW, { id: "b", uptimeMs: null }), null);
  assert.equal(anchorOf(NOW, -1, BOOT), null);
  assert.equal(anchorOf(NOW, Date.UTC(10_000, 0), BOOT), null);
});

Deno.test("isStep: over 60 s against the monotonic clock, in both directions", () => {
  const before = { wall: NOW, monotonic: 1_000 };
  const at = (step: number, passed = 30_000) =>
    isStep(before, { wall: NOW + passed + step, monotonic: 1_000 + passed });
  for (const step of [0, 59_000, -59_000]) assert.equal(at(step), false, `${step}`);
  for (const step of [61_000, -61_000, 30 * 365 * DAY]) assert.equal(at(step), true, `${step}`);
  assert.equal(at(DAY * 0.0005, DAY), false, "slewed for a day");
});

/** A told time `off` the expected one, where the wall clock is `wallOff` it. */
function told(
  off: number,
  options: { wallOff?: number; doubt?: Doubt | null; certain?: number | null; took?: number } = {},
) {
  const { wallOff = 0, doubt = null, certain = NOW, took = 0 } = options;
  const received = { wall: NOW + wallOff, monotonic: 1_000_000 };
  const known = { expected: NOW, certain, doubt };
  return judgeTold({ portal: NOW + off, sent: 1_000_000 - took, received }, known);
}

Deno.test("judgeTold: what agrees leaves the time as it is, and ends a doubt about boot and step", () => {
  for (const doubt of [null, { kind: "boot" }, { kind: "step" }] as const) {
    for (const wallOff of [0, DAY]) {
      assert.deepEqual(told(1_500, { doubt, wallOff }), { corrected: NOW, doubt: null });
      assert.deepEqual(told(-30_000, { doubt, wallOff }).doubt, null);
    }
  }
});

Deno.test("judgeTold: an answer that was long under way says an old time", () => {
  assert.deepEqual(told(-20_000, { took: 20_000 }), { corrected: NOW, doubt: null });
});

Deno.test("judgeTold: the portal is followed at once, but one answer alone is not certain", () => {
  for (const off of [-20 * 365 * DAY, -DAY, -2 * MINUTE, 2 * MINUTE, 40 * DAY]) {
    assert.deepEqual(told(off), {
      corrected: NOW + off,
      doubt: { kind: "answer", since: 1_000_000 },
    });
    // The wall clock says the same: the time before was wrong.
    assert.equal(told(off, { wallOff: off }).doubt, null);
    // But not a wall clock that was set just now.
    assert.equal(told(off, { wallOff: off, doubt: { kind: "step" } }).doubt?.kind, "answer");
  }
});

Deno.test("judgeTold: a time that contradicts a certain one is confirmed by answers over a minute", () => {
  const certain = NOW - DAY;
  const wallOff = -DAY;
  const doubt = (age: number): Doubt => ({ kind: "answer", since: 1_000_000 - age });
  const young = doubt(CONFIRM_MS - 1);
  assert.deepEqual(told(0, { doubt: young, certain, wallOff }), { corrected: NOW, doubt: young });
  assert.equal(told(0, { doubt: doubt(CONFIRM_MS), certain, wallOff }).doubt, null);
  // After a boot too: what a 409 told and the answer to the next request, 20 ms later, are one reading.
  const fresh = doubt(20);
  assert.deepEqual(told(0, { doubt: fresh, certain: null, wallOff }).doubt, fresh);
  assert.equal(told(0, { doubt: doubt(CONFIRM_MS), certain: null, wallOff }).doubt, null);
  // Back to what was certain: at once.
  assert.deepEqual(told(-DAY, { doubt: young, certain, wallOff: 2 * DAY }), {
    corrected: certain,
    doubt: null,
  });
  // To a third time: its minute begins.
  assert.deepEqual(told(DAY, { doubt: young, certain, wallOff }).doubt, {
    kind: "answer",
    since: 1_000_000,
  });
});

Deno.test("judgeTold: the corrected time is the told one, give or take what the way took", () => {
  const ms = fc.integer({ min: -50 * 365 * DAY, max: 50 * 365 * DAY });
  fc.assert(
    fc.property(ms, ms, fc.nat(30_000), (off, wallOff, took) => {
      const { corrected } = told(off, { wallOff, took });
      assert.ok(corrected - (NOW + off) <= took + 2_000 && corrected - (NOW + off) >= -2_000);
    }),
    { seed: 20261201 },
  );
});
