import type { Random } from "../../core/ports/random.ts";

/** How long things take on a simulated machine: from and to, milliseconds. */
export interface StepTimes {
  /** From the start of k3s until its API answers. */
  readonly apiUp: Range;
  /** From then until k3s's own kinds are there. */
  readonly definitions: Range;
  /** k3s ends. */
  readonly stop: Range;
  /** k3s takes a snapshot. */
  readonly snapshot: Range;
  /** The bucket shows it after that. */
  readonly upload: Range;
  /** k3s makes its database anew. */
  readonly reset: Range;
  /** One call of the bucket. */
  readonly bucket: Range;
  /** A program is fetched. */
  readonly download: Range;
  /** A chart is installed. */
  readonly chart: Range;
  /** From the power's return to the start of the agent. */
  readonly boot: Range;
}

/** From and to, milliseconds. */
export type Range = readonly [number, number];

/** As they were seen on small servers. */
export const USUAL_TIMES: StepTimes = {
  apiUp: [6_000, 25_000],
  definitions: [500, 4_000],
  stop: [500, 8_000],
  snapshot: [2_000, 20_000],
  upload: [1_000, 30_000],
  reset: [20_000, 90_000],
  bucket: [50, 400],
  download: [3_000, 60_000],
  chart: [5_000, 40_000],
  boot: [15_000, 60_000],
};

/** A moment of a range. */
export function within([from, to]: Range, random: Random): number {
  return Math.round(from + (to - from) * random.fraction());
}
