import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { hasNewSqlite, readDatabase } from "../../../core/operations/restore/database.ts";
import { isProven, writeReceipt } from "../../../core/operations/restore/receipt.ts";
import { K3S_HOLD_FILE, RESTORE_DIRECTORY, STATE_FILE } from "../../../core/state/paths.ts";
import { CLOCK_STEPS, stepClock, withClockStep, withClockStepIn } from "./clock_steps.ts";
import { type CutPoint, IS_LONG, type Outcome, runCuts } from "./cut_matrix.ts";
import {
  applyReset,
  createRestoreMachine,
  type RestoreMachine,
  SNAPSHOT,
} from "./restore_world.ts";

const SERVER = "/var/lib/rancher/k3s/server";
const DB = `${SERVER}/db`;
const RECEIPT = `${RESTORE_DIRECTORY}/reset.json`;

/** Restores once more on the machine, as if the portal had acknowledged what was before. */
async function restore(
  machine: RestoreMachine,
  id: string,
  cuts: readonly CutPoint[] = [],
): Promise<Outcome> {
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  machine.disk.put(STATE_FILE, JSON.stringify({ ...state, operation: null }));
  return await runCuts({
    setUp: () => machine,
    offer: () => ({ id, kind: "cluster.restore", params: { snapshot: SNAPSHOT, from: "s3" } }),
    apiUp: false,
    mayEnd: ["succeeded", "failed"],
    assertEnd: () => {},
  }, cuts);
}

function assertRestored(machine: RestoreMachine, { result, calls }: Outcome): void {
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.equal(machine.disk.text(`${DB}/etcd/member/wal/0.wal`), "restored");
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  assert.equal(calls.filter(({ name }) => name === "k3s.resetCluster").length, 1);
}

for (const [phase, [what, by]] of CLOCK_STEPS.entries()) {
  Deno.test(`cluster.restore: the clock goes ${what} at any call of a port`, async () => {
    const { calls } = await restore(createRestoreMachine(), "op_1");
    // Each of the four looks at other calls; together they are all.
    for (let at = 1 + phase; at <= calls.length; at += CLOCK_STEPS.length) {
      const machine = withClockStep(createRestoreMachine(), at, by);
      const outcome = await restore(machine, "op_1");
      assertRestored(machine, outcome);
      assert.deepEqual(outcome.result.output?.["forgotten_nodes"], ["gone-1"], `call ${at}`);
    }
  });

  Deno.test(`cluster.restore: two in a row, with the clock ${what} in the second reset`, async () => {
    /** The first one, and its second with a step and cuts. */
    const two = async (cuts: readonly CutPoint[]) => {
      const machine = createRestoreMachine();
      assertRestored(machine, await restore(machine, "op_1"));
      withClockStepIn(machine, "resetCluster", () => stepClock(machine, by));
      const outcome = await restore(machine, "op_2", cuts);
      return { machine, outcome };
    };
    const { machine, outcome } = await two([]);
    assertRestored(machine, outcome);
    const proven = outcome.calls.findIndex(({ name, args }) =>
      name === "disk.rename" && args[0] === `${RECEIPT}.tmp`
    ) + 1;
    const started = outcome.calls.findIndex(({ name }) =>
      name === "systemd.start"
    ) + 1;
    assert.ok(proven > 0 && started > proven);
    for (let call = proven + 2; call <= started + 1; call++) {
      const powers = [undefined, "lost", "kept"] as const;
      // By default one a call, the next call with the next one.
      for (const power of IS_LONG ? powers : [powers[(call + phase) % powers.length]]) {
        const cut = { call, moment: "before", ...(power === undefined ? {} : { power }) } as const;
        const after = await two([cut]);
        assertRestored(after.machine, after.outcome);
      }
    }
  });

  Deno.test(`cluster.restore: the old data is told from the rest of failed ones, with the clock ${what}`, async () => {
    const machine = createRestoreMachine();
    machine.resetting = { until: "etcd moved aside" };
    const first = await restore(machine, "op_1");
    const old = /the old data is whole in (\S+);/.exec(first.result.message ?? "")?.[1];
    assert.ok(old !== undefined, first.result.message);
    assert.equal(machine.disk.text(`${old}/member/wal/0.wal`), "old");
    for (
      const [index, until] of (["etcd restored", "etcd moved aside", "nothing"] as const).entries()
    ) {
      machine.resetting = { until };
      await machine.clock.advance(60_000);
      stepClock(machine, by);
      const { result } = await restore(machine, `op_${index + 2}`);
      assert.ok(result.message?.includes(`the old data is whole in ${old};`), result.message);
    }
  });

  Deno.test(`cluster.restore: another reset by hand is seen, with the clock ${what}`, async () => {
    const machine = createRestoreMachine();
    assertRestored(machine, await restore(machine, "op_1"));
    await machine.clock.advance(60_000);
    const before = await readDatabase(machine.disk);
    const kept = await writeReceipt(machine.disk, "op_2", SNAPSHOT, before);
    assert.ok(kept.ok);
    assert.deepEqual(await isProven(machine.disk, "op_2", before), { ok: true, value: true });
    machine.disk.put("/root/one", "another");
    stepClock(machine, by);
    applyReset(machine, { snapshot: "/root/one" }, "words said");
    const now = await readDatabase(machine.disk);
    assert.deepEqual(await isProven(machine.disk, "op_2", now), { ok: true, value: false });
  });
}

Deno.test("cluster.restore: what the last two restores replaced stays, whatever the clock says", async () => {
  for (const [, by] of CLOCK_STEPS) {
    const machine = createRestoreMachine();
    const data = () => {
      const names = machine.disk.paths().filter((path) => path.includes("/etcd-old-"));
      return names.map((path) => machine.disk.text(path)).filter((text) => text?.includes("mark"));
    };
    for (const number of [1, 2, 3, 4]) {
      machine.disk.put(`${DB}/etcd/member/wal/0.wal`, `mark-${number}`);
      assertRestored(machine, await restore(machine, `op_${number}`));
      const kept = [number - 1, number].filter((each) => each > 0).map((each) => `mark-${each}`);
      assert.deepEqual(data().toSorted(), kept, `${by}`);
      await machine.clock.advance(60_000);
      if (number !== 2) stepClock(machine, by);
    }
  }
});

Deno.test("isProven: a receipt of an earlier version holds, and an earlier one holds a receipt of this", async () => {
  const disk = createFakeDisk();
  for (const name of ["etcd-old-5/x", "etcd-old-7/x", "etcd/member/wal/0.wal", "etcd/name"]) {
    disk.put(`${DB}/${name}`, "");
  }
  disk.put(`${SERVER}/tls-7/ca.crt`, "");
  const now = await readDatabase(disk);
  const earlier = { operation: "op", snapshot: "s", oldDatabase: "etcd-old-7", tlsBackup: "tls-7" };
  disk.put(RECEIPT, JSON.stringify(earlier));
  assert.deepEqual(await isProven(disk, "op", now), { ok: true, value: true });
  const other = { ...now, tlsBackups: ["tls-7", "tls-9"] };
  assert.deepEqual(await isProven(disk, "op", other), { ok: true, value: false });
  assert.ok((await writeReceipt(disk, "op", "s", now)).ok);
  const { oldDatabase, tlsBackup } = JSON.parse(disk.text(RECEIPT) ?? "");
  assert.deepEqual({ ...earlier, oldDatabase, tlsBackup }, earlier);
});

Deno.test("isProven: the receipt of another operation proves nothing", async () => {
  const disk = createFakeDisk();
  for (const name of ["etcd-old-7/x", "etcd/member/wal/0.wal", "etcd/name"]) {
    disk.put(`${DB}/${name}`, "");
  }
  const now = await readDatabase(disk);
  assert.ok((await writeReceipt(disk, "op_1", "s", now)).ok);
  assert.deepEqual(await isProven(disk, "op_1", now), { ok: true, value: true });
  assert.deepEqual(await isProven(disk, "op_2", now), { ok: true, value: false });
});

Deno.test("cluster.restore: what k3s wrote is synced before the receipt says that it is there", async () => {
  const { calls } = await restore(createRestoreMachine(), "op_1");
  const names = calls.map(({ name }) => name);
  const after = names.slice(names.indexOf("k3s.resetCluster") + 1);
  const untilReceipt = after.slice(0, after.indexOf("disk.write"));
  assert.equal(untilReceipt.filter((name) => name === "disk.syncDirectory").length, 3);
});

Deno.test("isProven: an older database that is cleared away says nothing against the reset", async () => {
  const disk = createFakeDisk();
  for (const name of ["etcd-old-5/x", "etcd-old-7/x", "etcd/member/wal/0.wal", "etcd/name"]) {
    disk.put(`${DB}/${name}`, "");
  }
  assert.ok((await writeReceipt(disk, "op", "s", await readDatabase(disk))).ok);
  await disk.remove(`${DB}/etcd-old-7`);
  const now = await readDatabase(disk);
  assert.deepEqual(now.oldDatabases, ["etcd-old-5"]);
  assert.deepEqual(await isProven(disk, "op", now), { ok: true, value: true });
});

Deno.test("hasNewSqlite: one that is written with a clock that was set back is a new one", async () => {
  let time = 200;
  const disk = createFakeDisk({ now: () => time });
  disk.put(`${DB}/state.db`, "old");
  time = 100;
  disk.put(`${DB}/state.db-wal`, "old");
  const before = await readDatabase(disk);
  assert.equal(hasNewSqlite(before, await readDatabase(disk)), false);
  time = 50;
  disk.put(`${DB}/state.db-wal`, "new");
  assert.equal(hasNewSqlite(before, await readDatabase(disk)), true);
  assert.equal(
    hasNewSqlite({ ...before, sqlite: null }, before),
    false,
    "facts of an earlier version",
  );
});

Deno.test("cluster.restore: a Node has two minutes of an API that answers to show that it lives", async () => {
  const machine = createRestoreMachine();
  const { list } = machine.ports.k8s;
  let leases = 0;
  Object.assign(machine.ports.k8s, {
    list(...call: Parameters<typeof list>) {
      if (call[0].resource === "leases" && ++leases === 2) {
        // Right after the first look of forget_stale_nodes, and for longer than the two minutes.
        void machine.clock.sleep(1_000).then(() => machine.k8s.breakWith({ kind: "down" }));
        void machine.clock.sleep(151_000).then(() => machine.k8s.breakWith(null));
      }
      return list(...call);
    },
  });
  const outcome = await restore(machine, "op_1");
  assertRestored(machine, outcome);
  assert.deepEqual(outcome.result.output?.["forgotten_nodes"], ["gone-1"]);
  assert.ok(machine.k8s.read("/api/v1/nodes/alive-1") !== null);
});

Deno.test("cluster.restore: while every Node shows that it lives nobody waits", async () => {
  const machine = createRestoreMachine();
  await machine.k8s.remove({ apiVersion: "v1", resource: "nodes", name: "gone-1" });
  const began = machine.clock.monotonic();
  const outcome = await restore(machine, "op_1");
  assertRestored(machine, outcome);
  assert.deepEqual(outcome.result.output?.["forgotten_nodes"], []);
  assert.ok(machine.clock.monotonic() - began < 90_000);
});
