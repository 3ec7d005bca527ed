import assert from "node:assert/strict";
import fc from "fast-check";
import { accessOffer, issued, people, withAuthority } from "./access.ts";
import { type CutPoint, runCuts } from "./cut_matrix.ts";

const CUT: fc.Arbitrary<CutPoint> = fc.record({
  call: fc.integer({ min: 1, max: 40 }),
  moment: fc.constantFrom("before" as const, "after" as const),
  power: fc.constantFrom(undefined, "lost" as const, "kept" as const),
}).map(({ power, ...cut }) => power === undefined ? cut : { ...cut, power });

Deno.test("runOperation: killed again and again, wherever it is, it ends once and right", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(CUT, { minLength: 2, maxLength: 12 }), async (cuts) => {
      await runCuts({
        setUp: withAuthority,
        offer: () => accessOffer({ namespace: "default" }),
        async assertEnd(machine, { result }) {
          assert.match(
            issued(String(result.output?.["sealed_kubeconfig"])),
            /^ +token: fake-token/m,
          );
          assert.deepEqual(await people(machine), ["ada"]);
        },
      }, cuts);
    }),
    { seed: 21, numRuns: 40 },
  );
});
