import assert from "node:assert/strict";
import type { Random } from "../../core/ports/random.ts";

/** Registers the contract of the random port for one adapter; `subject` names it in the tests. */
export function randomContract(subject: string, make: () => Random): void {
  Deno.test(`${subject}: gives as many bytes as asked for`, () => {
    const random = make();
    for (const length of [0, 1, 32, 65_536, 65_537, 200_000]) {
      assert.equal(random.bytes(length).length, length);
    }
  });

  Deno.test(`${subject}: uses every value of a byte, up to the end of a long run`, () => {
    const bytes = make().bytes(200_000);
    for (const part of [bytes.subarray(0, 10_000), bytes.subarray(-10_000)]) {
      assert.equal(new Set(part).size, 256);
    }
  });

  Deno.test(`${subject}: gives other bytes each time`, () => {
    const random = make();
    const seen = new Set(Array.from({ length: 100 }, () => random.bytes(16).join()));
    assert.equal(seen.size, 100);
  });

  Deno.test(`${subject}: gives fractions from all over [0, 1)`, () => {
    const random = make();
    const fractions = Array.from({ length: 10_000 }, () => random.fraction());
    assert.ok(fractions.every((value) => value >= 0 && value < 1));
    const tenths = new Set(fractions.map((value) => Math.floor(value * 10)));
    assert.equal(tenths.size, 10);
    const mean = fractions.reduce((sum, value) => sum + value, 0) / fractions.length;
    // Seventeen standard deviations of the mean of so many: no luck explains a miss.
    assert.ok(Math.abs(mean - 0.5) < 0.05, String(mean));
  });
}
