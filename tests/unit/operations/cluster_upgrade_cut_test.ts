import assert from "node:assert/strict";
import fc from "fast-check";
import { clockMatrix, cutMatrix, type CutPoint, IS_LONG, runCut, runCuts } from "./cut_matrix.ts";
import { isLostOrder, upgradeCase } from "./upgrade_case.ts";
import { type Behaviour, type BootOptions, createUpgradeMachine } from "./upgrade_world.ts";

Deno.test("cluster.upgrade: killed at any call, it ends on the proven image or on the one before", async () => {
  // Only a boot in the new image's trial and a lost order to reboot can take a good one from the node.
  let lost = 0;
  const one = upgradeCase(() => createUpgradeMachine(), (_machine, outcome) => {
    const { result, cut } = outcome;
    if (isLostOrder(outcome)) lost += 1;
    const mayFail = isLostOrder(outcome) || cut?.power !== undefined && result.code === "fell_back";
    assert.ok(result.state === "succeeded" || mayFail, JSON.stringify(result));
  });
  const cuts = await cutMatrix(one, IS_LONG ? "each" : "in_turn");
  assert.ok(cuts > (IS_LONG ? 250 : 150), String(cuts));
  assert.ok(lost > 0 && lost <= 12, `${lost} cuts between the note and the order`);
});

Deno.test("cluster.upgrade: whatever the clock shows at any call, it ends as with a clock that is right", async () => {
  const runs = await clockMatrix(upgradeCase(() => createUpgradeMachine()));
  assert.ok(runs > 40, String(runs));
});

/** Machines whose boot ID, uptime or both say after a reboot that there was none. */
const LIARS: readonly BootOptions[] = [
  { bootIds: "kept" },
  { bootIds: "kept", uptime: "host" },
  { bootIds: "cloned" },
  { bootIds: "cloned", uptime: "host" },
];
for (const options of LIARS) {
  const what = JSON.stringify(options);
  for (const behaviour of ["good", "panics", "no_agent", "not_ready"] as const) {
    Deno.test(`cluster.upgrade: ${what}: an image that is ${behaviour} takes two reboots at most`, async () => {
      const setUp = () => createUpgradeMachine([behaviour], options);
      const { result } = await runCut(
        upgradeCase(setUp, ({ boots }) => {
          assert.ok(boots.length <= 3, String(boots));
        }),
        null,
      );
      assert.equal(result.state, behaviour === "good" ? "succeeded" : "failed");
    });
  }
  Deno.test({
    name: `cluster.upgrade: ${what}: killed at any call, it reboots twice at most`,
    ignore: !IS_LONG,
    async fn() {
      for (const behaviour of ["good", "panics", "not_ready"] as const) {
        await cutMatrix(upgradeCase(() => createUpgradeMachine([behaviour], options)), "in_turn");
      }
    },
  });
}

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
    boot: fc.constantFrom<BootOptions>({}, {}, ...LIARS),
  });
  await fc.assert(
    fc.asyncProperty(walk, async ({ behaviours, version, cuts, isTruncated, boot }) => {
      const setUp = () => {
        const machine = createUpgradeMachine([...behaviours], { version, ...boot });
        if (isTruncated) machine.losesImage = true;
        return machine;
      };
      await runCuts(upgradeCase(setUp), cuts);
    }),
    { seed: 20260101, numRuns: IS_LONG ? 3_000 : 40 },
  );
});
