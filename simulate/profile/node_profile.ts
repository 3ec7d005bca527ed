import type { Random } from "../../core/ports/random.ts";
import type { Profile } from "./profile.ts";

/** What chance made of one node. */
export interface NodeProfile {
  /** What its rates of faults are multiplied with. */
  readonly factor: number;
  readonly delay: Profile["network"]["delay"];
  /** Milliseconds that its clock is ahead. */
  readonly skewMs: number;
}

/** Draws what a node is like; always the same number of draws, so that nodes do not shift each other. */
export function drawNode({ nodes, network }: Profile, random: Random): NodeProfile {
  const [flaky, slow, skewed, skew] = [0, 0, 0, 0].map(() => random.fraction()) as [
    number,
    number,
    number,
    number,
  ];
  return {
    factor: flaky < nodes.flaky ? nodes.flaky_factor : 1,
    delay: slow < nodes.slow ? network.slow_delay : network.delay,
    skewMs: skewed < nodes.skewed ? Math.round((2 * skew - 1) * nodes.skew_s * 1000) : 0,
  };
}

/**
 * A delay by chance, milliseconds: log-normal through the median and the 99th percentile, as round trips
 * on real networks are.
 */
export function drawDelay({ median, p99 }: NodeProfile["delay"], random: Random): number {
  const Z99 = 2.326;
  const spread = Math.log(Math.max(p99, median, 1) / Math.max(median, 1)) / Z99;
  return Math.max(median, 1) * Math.exp(spread * gauss(random));
}

/** Time until the next of what happens so often per hour, milliseconds; Infinity where it never does. */
export function drawPause(perHour: number, random: Random): number {
  if (perHour <= 0) return Infinity;
  return -Math.log(1 - random.fraction()) * 3_600_000 / perHour;
}

/** A normally distributed number (Box and Muller). */
function gauss(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.fraction()));
  return radius * Math.cos(2 * Math.PI * random.fraction());
}
