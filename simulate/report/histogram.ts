/**
 * Counts of whole numbers in buckets that grow with the value, as in HdrHistogram: every value below
 * 2^bits has a bucket of its own, above it a bucket is at most 1/2^(bits-1) of its value wide. Two
 * histograms of the same `bits` add up exactly: the sum is what one histogram of all values would be.
 */
export interface Histogram {
  /** Decides how fine the buckets are: 11 is within 0.1 %, 6 within 3.2 %. */
  readonly bits: number;
  readonly count: number;
  /** Smallest and largest value, and the sum of all; 0 where there is none. */
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  /** Bucket number and count, in the order of values; empty buckets are left out. */
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
}

/** A histogram that is being filled. */
export interface Recording {
  /** Counts a value: rounded down to a whole number, negative ones and NaN as 0. */
  record(value: number): void;
  snapshot(): Histogram;
}

/** Within 0.1 %: for what is judged. */
export const FINE_BITS = 11;
/** Within 3.2 %: for what is drawn over time. */
export const COARSE_BITS = 6;

/** An empty recording. */
export function openRecording(bits: number): Recording {
  // By bucket number: a few thousand of them are what real times fall into.
  let counts = new Uint32Array(0);
  let count = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = 0;
  let sum = 0;
  return {
    record(given) {
      const value = given > 0 ? Math.floor(given) : 0;
      const bucket = bucketOf(value, bits);
      if (bucket >= counts.length) counts = longer(counts, bucket + 1);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      count += 1;
      sum += value;
      if (value < min) min = value;
      if (value > max) max = value;
    },
    snapshot: () => ({
      bits,
      count,
      min: count === 0 ? 0 : min,
      max,
      sum,
      buckets: filled(counts),
    }),
  };
}

function longer(counts: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(Math.max(length, 2 * counts.length));
  grown.set(counts);
  return grown;
}

function filled(counts: Uint32Array): [bucket: number, count: number][] {
  const buckets: [number, number][] = [];
  counts.forEach((count, bucket) => void (count > 0 && buckets.push([bucket, count])));
  return buckets;
}

/** The number of the bucket that a whole number from 0 to 2^53 falls into. */
export function bucketOf(value: number, bits: number): number {
  if (value < 2 ** bits) return value;
  const shift = exponentOf(value) - (bits - 1);
  return shift * 2 ** (bits - 1) + Math.floor(value / 2 ** shift);
}

/** The smallest and the largest value of a bucket. */
export function boundsOf(bucket: number, bits: number): readonly [least: number, most: number] {
  if (bucket < 2 ** bits) return [bucket, bucket];
  const half = 2 ** (bits - 1);
  const shift = Math.floor(bucket / half) - 1;
  const least = (bucket - shift * half) * 2 ** shift;
  return [least, least + 2 ** shift - 1];
}

/**
 * The value that `percent` of all values do not exceed: the largest value of its bucket, but never more
 * than the largest of all. 0 where the histogram is empty.
 */
export function percentile(histogram: Histogram, percent: number): number {
  const wanted = Math.max(1, Math.ceil(histogram.count * percent / 100 - 1e-9));
  let seen = 0;
  for (const [bucket, count] of histogram.buckets) {
    seen += count;
    if (seen >= wanted) return Math.min(boundsOf(bucket, histogram.bits)[1], histogram.max);
  }
  return histogram.max;
}

/** The histogram of all values of both. Throws where they are not equally fine. */
export function addHistograms(one: Histogram, other: Histogram): Histogram {
  if (one.bits !== other.bits) {
    throw new Error(`histograms of ${one.bits} and ${other.bits} bits do not add up`);
  }
  if (one.count === 0) return other;
  if (other.count === 0) return one;
  const counts = new Map(one.buckets);
  for (const [bucket, count] of other.buckets) {
    counts.set(bucket, (counts.get(bucket) ?? 0) + count);
  }
  return {
    bits: one.bits,
    count: one.count + other.count,
    min: Math.min(one.min, other.min),
    max: Math.max(one.max, other.max),
    sum: one.sum + other.sum,
    buckets: [...counts].sort(([first], [second]) => first - second),
  };
}

/** The exponent of the largest power of two that is not over `value`, which is at least 1. */
function exponentOf(value: number): number {
  if (value < 2 ** 31) return 31 - Math.clz32(value);
  return 31 - Math.clz32(Math.floor(value / 2 ** 31)) + 31;
}
