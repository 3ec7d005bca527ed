import assert from "node:assert/strict";
import fc from "fast-check";
import { cutMatrix, type CutPoint, runCuts } from "./cut_matrix.ts";
import { upgradeCase } from "./upgrade_case.ts";
import { type Behaviour, createUpgradeMachine } from "./upgrade_world.ts";

/** All moments of all calls, bad images too, and thousands of walks: minutes. */
const IS_LONG = Deno.env.get("PBX_LONG") === "1";

Deno.test("cluster.upgrade: killed at any call, it ends on the proven image or on the one before", async () => {
  // Only a boot in the new image's trial can take a good one from the node; anything else, it goes on.
  const one = upgradeCase(() => createUpgradeMachine(), (_machine, { result, cut }) => {
    const mayFail = cut?.power !== undefined && result.code === "fell_back";
    assert.ok(result.state === "succeeded" || mayFail, JSON.stringify(result));
  });
  const cuts = await cutMatrix(one, IS_LONG ? "each" : "in_turn");
  assert.ok(cuts > 250, String(cuts));
});

for (const behaviour of ["panics", "no_agent", "not_ready"] as const) {
  Deno.test({
    name: `cluster.upgrade: killed at any call, an image that ${behaviour} is never kept`,
    ignore: !IS_LONG,
    async fn() {
      const cuts = await cutMatrix(upgradeCase(() => createUpgradeMachine([behaviour])));
      assert.ok(cuts > 500, String(cuts));
    },
  });
}

const CUT: fc.Arbitrary<CutPoint> = fc.record({
  call: fc.integer({ min: 1, max: 260 }),
  moment: fc.constantFrom("before" as const, "after" as const),
  power: fc.constantFrom(undefined, "lost" as const, "kept" as const),
}).map(({ power, ...cut }) => power === undefined ? cut : { ...cut, power });

const BEHAVIOUR = fc.constantFrom<Behaviour>(
  ...["good", "good", "good", "panics", "hangs", "no_agent"] as const,
  ...["no_api", "not_ready", "old_k3s", "no_deployment"] as const,
);

Deno.test("cluster.upgrade: random walks of cuts through machines of every systemd-boot", async () => {
  const walk = fc.record({
    behaviours: fc.array(BEHAVIOUR, { minLength: 1, maxLength: 3 }),
    version: fc.constantFrom(252, 254, 257, 262),
    cuts: fc.array(CUT, { maxLength: 6 }),
    isTruncated: fc.nat({ max: 9 }).map((number) => number === 0),
  });
  await fc.assert(
    fc.asyncProperty(walk, async ({ behaviours, version, cuts, isTruncated }) => {
      const setUp = () => {
        const machine = createUpgradeMachine([...behaviours], { version });
        if (isTruncated) machine.losesImage = true;
        return machine;
      };
      await runCuts(upgradeCase(setUp), cuts);
    }),
    { seed: 20260101, numRuns: IS_LONG ? 3_000 : 40 },
  );
});
