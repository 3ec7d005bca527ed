import { createFakeRandom } from "../../adapters/fake/random.ts";

/** Choices that look random and are the same for the same seed. */
export interface Dice {
  /** A whole number from 0 up to but without `below`. */
  below(below: number): number;
  /** True `percent` times out of a hundred. */
  chance(percent: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** The seed of this run: PBX_FUZZ_SEED, or one that never changes, so that a red run is red again. */
export const SEED = Number(Deno.env.get("PBX_FUZZ_SEED") ?? "20260302");

/** Dice of their own for one case, so that any case can be run alone. */
export function diceOf(seed: number): Dice {
  const random = createFakeRandom(seed);
  const below = (limit: number) => Math.floor(random.fraction() * limit);
  return {
    below,
    chance: (percent) => below(100) < percent,
    pick(from) {
      const value = from[below(from.length)];
      if (value === undefined) throw new Error("nothing to pick from");
      return value;
    },
  };
}

/**
 * Runs `check` on `count` cases of `name`. A case that throws fails the run with everything that is
 * needed to run it again.
 */
export async function fuzz(
  name: string,
  count: number,
  check: (dice: Dice, index: number) => void | Promise<void>,
): Promise<void> {
  Deno.stdout.writeSync(new TextEncoder().encode(`${name}: PBX_FUZZ_SEED=${SEED}\n`));
  for (let index = 0; index < count; index++) {
    try {
      await check(diceOf(caseSeed(name, index)), index);
    } catch (cause) {
      throw new Error(`${name}, case ${index}, PBX_FUZZ_SEED=${SEED}: ${String(cause)}`, { cause });
    }
  }
}

/** Different cases and different names must not see the same dice. */
function caseSeed(name: string, index: number): number {
  let hash = SEED;
  for (const character of `${name} ${index}`) {
    hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  }
  return hash;
}
