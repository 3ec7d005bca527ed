import type { Random } from "../../core/ports/random.ts";

/**
 * Numbers that look random and are the same for the same seed (a whole number; its lowest 32 bits
 * count). For tests and simulations; never for real keys.
 */
export function createFakeRandom(seed: number): Random {
  let state = seed >>> 0;

  /** The next 32 bits, by the generator mulberry32. */
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  return {
    bytes: (length) => Uint8Array.from({ length }, () => next() >>> 24),
    fraction: () => next() / 2 ** 32,
  };
}
