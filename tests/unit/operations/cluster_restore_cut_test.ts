import assert from "node:assert/strict";
import { K3S_HOLD_DROP_IN, K3S_HOLD_FILE, RESTORE_DIRECTORY } from "../../../core/state/paths.ts";
import {
  clockMatrix,
  type CutCase,
  cutMatrix,
  IS_LONG,
  type Outcome,
  runCut,
} from "./cut_matrix.ts";
import {
  applyReset,
  createRestoreMachine,
  type RestoreMachine,
  SNAPSHOT,
  type Stage,
  STAGES,
} from "./restore_world.ts";

const DB = "/var/lib/rancher/k3s/server/db";
const RECEIPT = `${RESTORE_DIRECTORY}/reset.json`;

/** A restore whose reset, when it is killed in its middle, has come as far as `stage`. */
function restoring(
  stage: Stage,
  assertEnd: CutCase<RestoreMachine>["assertEnd"],
): CutCase<RestoreMachine> {
  return {
    setUp: () => createRestoreMachine(),
    offer: () => ({
      id: "op_cut",
      kind: "cluster.restore",
      params: { snapshot: SNAPSHOT, from: "s3" },
    }),
    halves: {
      "k3s.resetCluster": (machine, { args }) => {
        applyReset(machine, args[0] as Parameters<typeof applyReset>[1], stage);
      },
    },
    mayEnd: ["succeeded", "failed"],
    assertEnd,
  };
}

/** Whatever happened: the old data is somewhere, and no k3s runs on half a database. */
function assertSafe(machine: RestoreMachine, { result, calls }: Outcome): void {
  const { disk, systemd } = machine;
  const old = disk.paths().filter((path) => path.startsWith(`${DB}/etcd-old-`));
  const wals = old.filter((path) => path.endsWith("0.wal"));
  assert.ok(wals.length <= 1, `the database was moved aside more than once: ${old}`);
  const begun = calls.filter(({ name }) => name === "k3s.resetCluster").length;
  if (result.state === "succeeded") {
    assert.equal(wals.length, 1);
    assert.equal(disk.text(`${DB}/etcd/member/wal/0.wal`), "restored");
    assert.deepEqual([disk.text(K3S_HOLD_FILE), disk.text(K3S_HOLD_DROP_IN)], [null, null]);
    assert.equal(systemd.units.get("k3s.service")?.state, "active");
    assert.deepEqual(result.output?.["forgotten_nodes"], ["gone-1"]);
    assert.equal(begun, 1, "a reset that ran to its end is not run again");
    return;
  }
  assert.deepEqual(
    [result.step, result.code],
    ["reset_restore", "unclear"],
    JSON.stringify(result),
  );
  assert.match(String(result.message), /is not run again by itself.*the old data is whole in/);
  assert.ok(disk.text(K3S_HOLD_FILE) !== null && disk.text(K3S_HOLD_DROP_IN) !== null, "held");
  assert.equal(systemd.units.get("k3s.service")?.state, "inactive");
  assert.deepEqual(systemd.calls.filter((call) => call.startsWith("start")), []);
  assert.equal(begun, 1);
}

Deno.test("cluster.restore: killed anywhere, it ends right or says where it stands", async () => {
  const whole = await runCut(restoring("words said", assertSafe), null);
  const named = ({ name, args }: Outcome["calls"][number]) => `${name} ${args[0]}`;
  const reset = whole.calls.findIndex(({ name }) => name === "k3s.resetCluster") + 1;
  const proven = whole.calls.findIndex((call) => named(call) === `disk.rename ${RECEIPT}.tmp`) +
    1;
  assert.ok(reset > 50 && proven > reset);
  let failed = 0;
  const one = restoring("words said", (machine, outcome) => {
    assertSafe(machine, outcome);
    if (outcome.result.state === "succeeded") return;
    failed += 1;
    const call = outcome.cut?.call ?? 0;
    assert.ok(call >= reset && call <= proven, "only the reset itself must not run twice");
  });
  const cuts = await cutMatrix(one, IS_LONG ? "each" : "in_turn");
  assert.ok(cuts > (IS_LONG ? 300 : 100), String(cuts));
  assert.ok(failed > 0, "a reset whose end nobody saw is not taken for a success");
});

Deno.test("cluster.restore: whatever the clock shows at any call, it ends as with a clock that is right", async () => {
  const runs = await clockMatrix(restoring("words said", assertSafe));
  assert.ok(runs > 40, String(runs));
});

for (const stage of STAGES) {
  Deno.test(`cluster.restore: killed in the reset, with ${stage}`, async () => {
    const whole = await runCut(restoring(stage, assertSafe), null);
    const call = whole.calls.findIndex(({ name }) => name === "k3s.resetCluster") + 1;
    for (const power of [undefined, "lost", "kept"] as const) {
      const cut = { call, moment: "during", ...(power === undefined ? {} : { power }) } as const;
      const { result } = await runCut(
        restoring(stage, (machine, outcome) => {
          if (stage !== "nothing") return assertSafe(machine, outcome);
          // Nothing was begun, so it runs: the second run is the first that does anything.
          assert.equal(outcome.result.state, "succeeded", JSON.stringify(outcome.result));
          assert.equal(outcome.calls.filter(({ name }) => name === "k3s.resetCluster").length, 2);
        }),
        cut,
      );
      assert.equal(result.state, stage === "nothing" ? "succeeded" : "failed");
    }
  });
}
