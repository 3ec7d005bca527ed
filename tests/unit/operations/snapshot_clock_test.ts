import assert from "node:assert/strict";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { CLOCK_STEPS, stepClock, withClockStep, withClockStepIn } from "./clock_steps.ts";
import { type CutCase, cutMatrix, IS_LONG, runCut } from "./cut_matrix.ts";
import {
  createSavingMachine,
  save,
  type Saving,
  type SavingMachine,
  SNAPSHOTS,
} from "./k3s_world.ts";
import { BUCKET, CLUSTER, type Machine, NODE, START } from "./machine.ts";
import { createUpgradeMachine, openUpgradeAgent, TO } from "./upgrade_world.ts";

const OLD_SECONDS = START / 1000 - 10;
const OLD = `weekly-${NODE}-${OLD_SECONDS}`;

/** A snapshot of the name that was there before, in both places, and k3s's words on it. */
function putOld(machine: Machine, file = OLD): void {
  const { disk, s3, k8s } = machine;
  disk.put(`${SNAPSHOTS}/${file}`, "of last week");
  s3.put(`${CLUSTER}/${file}`, new TextEncoder().encode("of last week"));
  for (const place of ["local", "s3"]) {
    k8s.write(`/apis/k3s.cattle.io/v1/etcdsnapshotfiles/${place}-${file}`, {
      apiVersion: "k3s.cattle.io/v1",
      kind: "ETCDSnapshotFile",
      metadata: { name: `${place}-${file}` },
      spec: { snapshotName: file, nodeName: NODE, ...(place === "s3" ? { s3: {} } : {}) },
      status: { size: "12", creationTime: "2026-01-01T11:59:50Z", readyToUse: true },
    }, "k3s");
  }
}

/** k3s takes snapshots, and the clock is set while it does. */
function clockSetInSave(by: number, saving: Saving = {}): SavingMachine {
  const machine = createSavingMachine(saving);
  putOld(machine);
  return withClockStepIn(machine, "saveSnapshot", () => stepClock(machine, by));
}

function saving(setUp: () => SavingMachine, more: Partial<CutCase<SavingMachine>> = {}) {
  return {
    setUp,
    offer: () => ({ id: "op_1", kind: "snapshot.save", params: { name: "weekly" } }),
    assertEnd: () => {},
    ...more,
  };
}

/** The snapshots in the bucket but for the old one. */
async function newOnes({ s3 }: Machine): Promise<readonly string[]> {
  const page = await s3.list(BUCKET, `${CLUSTER}/`);
  const files = page.ok ? page.value.objects.map(({ key }) => key.slice(CLUSTER.length + 1)) : [];
  return files.filter((file) => file !== OLD);
}

async function assertOneOfItsOwn(machine: Machine, result: OperationResult): Promise<void> {
  const made = await newOnes(machine);
  assert.equal(made.length, 1, `one snapshot, not ${made}`);
  assert.equal(result.output?.["file"], made[0], JSON.stringify(result));
  assert.equal(result.output?.["size"], 4 * 4096 + 32);
}

for (const [what, by] of CLOCK_STEPS) {
  for (const place of ["the bucket", "the node"]) {
    Deno.test(`snapshot.save: the clock goes ${what} while k3s saves to ${place}`, async () => {
      const setUp = () => {
        const machine = clockSetInSave(by, place === "the node" ? { upload: "never" } : {});
        if (place === "the node") withoutBucket(machine);
        return machine;
      };
      const machine = setUp();
      const { result } = await runCut(saving(() => machine), null);
      if (place === "the bucket") return await assertOneOfItsOwn(machine, result);
      assert.notEqual(result.output?.["file"], OLD);
      assert.match(String(result.output?.["file"]), /^weekly-demo-1-[0-9]+$/);
    });
  }

  Deno.test(`snapshot.save: cut anywhere, with the clock ${what} while k3s saves`, async () => {
    let fallen = 0;
    const cuts = await cutMatrix(
      saving(() => clockSetInSave(by), {
        // The program is killed with the agent; k3s's server goes on without it.
        halves: {
          "k3s.saveSnapshot": (machine, { args }) => {
            fallen += 1;
            stepClock(machine, by);
            void save(machine, String(args[0]), { laterMs: 3_000 }, () => {});
            const lines = ["Error: snapshot save already in progress"];
            machine.saving = { exit: { code: 1 }, lines, upload: "never", local: false };
          },
        },
        assertEnd: (machine, { result }) => assertOneOfItsOwn(machine, result),
      }),
      by === -30_000 ? "each" : "in_turn",
    );
    assert.ok(cuts > 50 && (fallen === 1 || by !== -30_000), `${cuts} cuts`);
  });

  Deno.test(`snapshot.save: the clock goes ${what} at any call of a port`, async () => {
    const whole = await runCut(saving(() => setAt(0, by)), null);
    // By default each of the four looks at other calls; together they are all.
    const apart = IS_LONG ? 1 : CLOCK_STEPS.length;
    const first = IS_LONG ? 0 : CLOCK_STEPS.findIndex(([each]) => each === what);
    for (let at = 1 + first; at <= whole.calls.length; at += apart) {
      const machine = setAt(at, by);
      const { result } = await runCut(saving(() => machine), null);
      await assertOneOfItsOwn(machine, result);
    }
  });

  Deno.test(`cluster.upgrade: the clock goes ${what} while k3s takes its snapshot`, async () => {
    const old = `pbx-pre-upgrade-${TO}-${NODE}-${OLD_SECONDS}`;
    const machine = createUpgradeMachine();
    putOld(machine, old);
    withClockStepIn(machine, "saveSnapshot", () => stepClock(machine, by));
    const { journal } = await runCut({
      setUp: () => machine,
      offer: () => ({ id: "op_1", kind: "cluster.upgrade", params: { release: TO } }),
      open: openUpgradeAgent,
      assertEnd: () => {},
    }, null);
    const made = (await newOnes(machine)).filter((file) => file !== old);
    assert.equal(made.length, 1, "an old one is not the way back");
    assert.equal(journal.handed["snapshot"], made[0]);
  });
}

/** A machine whose clock is set when the `at`-th call of a port is made; 0 sets it never. */
function setAt(at: number, by: number): SavingMachine {
  const machine = createSavingMachine();
  putOld(machine);
  return withClockStep(machine, at, by);
}

function withoutBucket({ disk }: Machine): void {
  const path = "/var/lib/pbx-agent/bootstrap.json";
  const document = JSON.parse(disk.text(path) ?? "");
  delete document.answer.secrets.etcd_s3;
  disk.put(path, JSON.stringify(document));
}

/** The file name that k3s gives when its clock is set to this second. */
const AGAIN = START - 3_600_000;
const SAME = `weekly-${NODE}-${AGAIN / 1000}`;

/** k3s's clock is set so that it gives the file name of the old snapshot again. */
function sameName(saving: Saving): SavingMachine {
  const machine = createSavingMachine(saving);
  putOld(machine, SAME);
  return withClockStepIn(machine, "saveSnapshot", () => machine.clock.setWallClock(AGAIN));
}

Deno.test("snapshot.save: one that takes the file name of an older one counts once it is uploaded", async () => {
  const machine = sameName({});
  const { result } = await runCut(saving(() => machine), null);
  assert.deepEqual([result.output?.["file"], result.output?.["size"]], [SAME, 4 * 4096 + 32]);
});

Deno.test("snapshot.save: one whose file name an older object has is not proven by that", async () => {
  const machine = sameName({ upload: "never" });
  const { result } = await runCut(saving(() => machine, { mayEnd: ["failed"] }), null);
  assert.equal(result.code, "not_in_bucket", JSON.stringify(result));
});

Deno.test("snapshot.save: the late upload of an older one is not this operation's", async () => {
  const machine = createSavingMachine({ upload: "never" });
  putOld(machine);
  machine.s3.remove(`${CLUSTER}/${OLD}`);
  void machine.clock.sleep(5_000).then(() =>
    machine.s3.put(`${CLUSTER}/${OLD}`, new TextEncoder().encode("of last week"))
  );
  const { result } = await runCut(saving(() => machine, { mayEnd: ["failed"] }), null);
  assert.equal(result.code, "not_in_bucket", JSON.stringify(result));
});

Deno.test("snapshot.save: where the bucket was not listed before, what is new on the node counts", async () => {
  for (const upload of ["done", "never"] as const) {
    const machine = createSavingMachine({ upload });
    // Only the bucket has it: what it had before is not known.
    machine.s3.put(`${CLUSTER}/${OLD}`, new TextEncoder().encode("of last week"));
    machine.s3.faults.unreachable = "refused";
    void machine.clock.sleep(200).then(() => delete machine.s3.faults.unreachable);
    const { result, journal } = await runCut(
      saving(() => machine, { mayEnd: ["succeeded", "failed"] }),
      null,
    );
    assert.equal(
      (journal.handed["snapshots_before"] as Record<string, unknown>)["bucket_listed"],
      false,
    );
    if (upload === "done") await assertOneOfItsOwn(machine, result);
    else assert.equal(result.code, "not_in_bucket", JSON.stringify(result));
  }
});

Deno.test("snapshot.save: keys that may read but not list do not find an older one", async () => {
  const machine = clockSetInSave(-30_000);
  machine.s3.faults.denied = ["list"];
  const { result } = await runCut(saving(() => machine), null);
  assert.notEqual(result.output?.["file"], OLD);
  assert.equal(result.output?.["location"], "s3");
});

Deno.test("snapshot.save: a name that a thousand snapshots have takes no more", async () => {
  const machine = createSavingMachine();
  for (let at = 0; at < 1_001; at++) {
    machine.s3.put(`${CLUSTER}/weekly-${NODE}-${1_600_000_000 + at}`, new Uint8Array(1));
  }
  const { result } = await runCut(saving(() => machine, { mayEnd: ["failed"] }), null);
  assert.deepEqual([result.code, machine.k3s.runs.length], ["not_saved", 0]);
  assert.match(String(result.message), /1001 snapshots are named weekly.*choose another name/);
});

Deno.test("snapshot.save: k3s is not asked before it is known what is there", async () => {
  const machine = createSavingMachine();
  const { list } = machine.ports.disk;
  Object.assign(machine.ports.disk, {
    list: (path: string) =>
      path === SNAPSHOTS
        ? Promise.resolve({ ok: false, error: { code: "failed", message: "input/output error" } })
        : list(path),
  });
  const { result } = await runCut(saving(() => machine, { mayEnd: ["failed"] }), null);
  assert.deepEqual([result.code, machine.k3s.runs.length], ["not_saved", 0]);
  assert.match(String(result.message), /input\/output error/);
});
