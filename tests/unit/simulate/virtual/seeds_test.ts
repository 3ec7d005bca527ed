import assert from "node:assert/strict";
import { describeEnd, runSeed } from "../../../simulate/seeds.ts";

/** Everything goes wrong around one agent, for two hours of its life. */
const SMALL = { profile: "rough", agents: 1, hours: 2 } as const;
/** Its clock and its portal's step all the time. */
const CLOCKS = { profile: "clocks", agents: 1, hours: 3 } as const;

Deno.test("simulate --virtual: twenty seeds break no rule, and all converge", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const end = await runSeed(seed, SMALL);
    assert.equal(describeEnd(end, SMALL), null);
    assert.equal(end.converged, SMALL.agents);
  }
});

Deno.test("simulate --virtual: twelve seeds with clocks that step break no rule, and all converge", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    const end = await runSeed(seed, CLOCKS);
    assert.equal(describeEnd(end, CLOCKS), null);
    assert.equal(end.converged, CLOCKS.agents);
  }
});

Deno.test("simulate --virtual: the same seed is the same run, another is another", async () => {
  const runs = [await runSeed(3, SMALL), await runSeed(3, SMALL), await runSeed(4, SMALL)];
  const [first, same, other] = runs.map(({ traceHash, counts }) => ({ traceHash, counts }));
  assert.deepEqual(first, same);
  assert.notEqual(first?.traceHash, other?.traceHash);
});
