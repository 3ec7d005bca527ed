import assert from "node:assert/strict";
import fc from "fast-check";
import { backoffMs, LONGEST_STEP } from "../../../core/protocol/backoff.ts";

const STEPS = [5, 10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1000);

Deno.test("backoffMs: 5, 10, 20 ... 300 s, each 0.8 to 1.2 times, never over 300 s", () => {
  for (const [index, step] of STEPS.entries()) {
    assert.equal(backoffMs(index + 1, 0.5), step);
    assert.equal(backoffMs(index + 1, 0), step * 0.8);
    assert.equal(backoffMs(index + 1, 0.999999999), Math.min(step * 1.2, 300_000));
  }
  assert.equal(backoffMs(LONGEST_STEP + 1, 0.5), 300_000);
  assert.equal(backoffMs(LONGEST_STEP, 0.5), 160_000);
});

Deno.test("backoffMs: always between 4 s and 300 s, and longer failures never wait less", () => {
  fc.assert(
    fc.property(
      fc.nat(10_000),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, fraction) => {
        const ms = backoffMs(failures, fraction);
        assert.ok(Number.isInteger(ms) && ms >= 4_000 && ms <= 300_000);
        assert.ok(backoffMs(failures + 1, fraction) >= ms);
      },
    ),
    { seed: 13 },
  );
});
