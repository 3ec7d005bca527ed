import assert from "node:assert/strict";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import { createNodeRandom } from "../../adapters/node/random.ts";
import { randomContract } from "./random_contract.ts";

randomContract("createFakeRandom", () => createFakeRandom(1));
randomContract("createNodeRandom", createNodeRandom);

Deno.test("createFakeRandom: gives the same for the same seed, and other values for another", () => {
  function sample(seed: number): readonly number[] {
    const random = createFakeRandom(seed);
    return [...random.bytes(8), random.fraction(), random.fraction()];
  }
  assert.deepEqual(sample(42), sample(42));
  assert.notDeepEqual(sample(42), sample(43));
  assert.notDeepEqual(sample(0), sample(1));
});

Deno.test("createNodeRandom: gives no two programs the same", () => {
  assert.notDeepEqual(createNodeRandom().bytes(16), createNodeRandom().bytes(16));
});
