import assert from "node:assert/strict";
import fc from "fast-check";
import * as hdr from "hdr-histogram-js";
import {
  addHistograms,
  boundsOf,
  bucketOf,
  FINE_BITS,
  openRecording,
  percentile,
} from "../../../../simulate/report/histogram.ts";

const RUN = { seed: 7, numRuns: 200 };
const value = fc.oneof(
  fc.nat({ max: 5_000 }),
  fc.nat({ max: 60_000_000 }),
  fc.bigInt(0n, 2n ** 44n).map(Number),
);

function recordingOf(values: readonly number[], bits = FINE_BITS) {
  const recording = openRecording(bits);
  for (const one of values) recording.record(one);
  return recording.snapshot();
}

Deno.test("bucketOf: a value lies in its bucket, buckets touch and are as fine as promised", () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 12 }), (one, bits) => {
      const bucket = bucketOf(one, bits);
      const [least, most] = boundsOf(bucket, bits);
      assert.ok(least <= one && one <= most, `${one} in [${least}, ${most}]`);
      assert.equal(bucketOf(most + 1, bits), bucket + 1);
      assert.ok(most - least < Math.max(1, one / 2 ** (bits - 1)));
    }),
    RUN,
  );
});

Deno.test("record: rounds down, takes negative values and NaN as 0", () => {
  const { buckets, min, max, sum, count } = recordingOf([-3, Number.NaN, 1.9, 7]);
  assert.deepEqual(buckets, [[0, 2], [1, 1], [7, 1]]);
  assert.deepEqual({ min, max, sum, count }, { min: 0, max: 7, sum: 8, count: 4 });
});

Deno.test("addHistograms: parts add up to the whole exactly, however they are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.array(value), { minLength: 1, maxLength: 5 }), (parts) => {
      const sum = parts.map((part) => recordingOf(part)).reduce(addHistograms);
      assert.deepEqual(sum, recordingOf(parts.flat()));
    }),
    RUN,
  );
});

Deno.test("addHistograms: refuses histograms that are not equally fine", () => {
  assert.throws(() => addHistograms(recordingOf([1], 6), recordingOf([1], 11)), /6 and 11 bits/);
});

Deno.test("percentile: within a bucket of the true one, and of HdrHistogram's", () => {
  const percents = [0, 1, 50, 90, 99, 99.9, 100];
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 60_000_000 }), { minLength: 1 }), (values) => {
      const ours = recordingOf(values);
      const theirs = hdr.build({ lowestDiscernibleValue: 1, numberOfSignificantValueDigits: 3 });
      for (const one of values) theirs.recordValue(one);
      const sorted = values.toSorted((one, other) => one - other);
      for (const percent of percents) {
        const exact = sorted[Math.max(0, Math.ceil(values.length * percent / 100 - 1e-9) - 1)];
        const found = percentile(ours, percent);
        assert.equal(bucketOf(found, FINE_BITS), bucketOf(exact ?? -1, FINE_BITS));
        const witness = theirs.getValueAtPercentile(percent);
        assert.ok(Math.abs(found - witness) <= witness / 500 + 1, `${found} and ${witness}`);
      }
    }),
    RUN,
  );
});

Deno.test("percentile: of nothing is 0, of everything the largest value", () => {
  assert.equal(percentile(recordingOf([]), 99), 0);
  assert.equal(percentile(recordingOf([1_000_001]), 50), 1_000_001);
});
