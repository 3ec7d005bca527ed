import assert from "node:assert/strict";
import { sha256 as hash } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { operationLogPath } from "../../../core/operations/operation_log.ts";
import { clockMatrix, type CutCase, cutMatrix, runCut } from "./cut_matrix.ts";
import { SNAPSHOTS_FILE } from "../../../core/state/paths.ts";
import {
  createSavingMachine,
  save,
  type Saving,
  type SavingMachine,
  SNAPSHOTS,
} from "./k3s_world.ts";
import { BUCKET, CLUSTER, NODE } from "./machine.ts";

const ID = "op_save_1";

/** Takes a snapshot on a machine whose k3s works as told. */
async function saved(
  saving: Saving | Saving[],
  change: (machine: SavingMachine) => void = () => {},
  params: Record<string, string> = {},
): Promise<{ machine: SavingMachine; result: OperationResult }> {
  const machine = createSavingMachine(saving);
  change(machine);
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({ id: ID, kind: "snapshot.save", params }),
    mayEnd: ["succeeded", "failed", "refused"],
    assertEnd: () => {},
  }, null);
  return { machine, result };
}

const KEY = new RegExp(`^pbx-${ID}-${NODE}-[0-9]{10}$`);

Deno.test("snapshot.save: the result names what is in the bucket", async () => {
  const { machine, result } = await saved({});
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  const { name, file, size, sha256, location, created_at } = result.output ?? {};
  assert.deepEqual([name, location], [`pbx-${ID}`, "s3"]);
  assert.match(String(file), KEY);
  assert.equal(size, 4 * 4096 + 32);
  assert.match(String(created_at), /^2026-01-01T12:00:0/);
  assert.deepEqual(machine.k3s.runs, [`save pbx-${ID}`]);
  await assertNoted(machine, { name: file, size, sha256 });
});

/** The record that restores compare with has the file as k3s wrote it. */
async function assertNoted({ disk }: SavingMachine, expected: Record<string, unknown>) {
  const read = await disk.read(`${SNAPSHOTS}/${expected["name"]}`);
  assert.ok(read.ok && read.value !== null);
  assert.equal(expected["sha256"], bytesToHex(hash(read.value)));
  const { snapshots } = JSON.parse(disk.text(SNAPSHOTS_FILE) ?? "");
  assert.equal(snapshots.length, 1);
  const { name, size, sha256 } = snapshots[0];
  assert.deepEqual({ name, size, sha256 }, expected);
}

Deno.test("snapshot.save: a compressed one, under a given name", async () => {
  const { machine, result } = await saved({ zip: true }, () => {}, { name: "before-change" });
  const { file, size, sha256 } = result.output ?? {};
  await assertNoted(machine, { name: file, size, sha256 });
  assert.match(String(result.output?.["file"]), /^before-change-demo-1-[0-9]+\.zip$/);
  assert.deepEqual(machine.k3s.runs, ["save before-change"]);
});

Deno.test("snapshot.save: an older one of the same name is not this operation's", async () => {
  const { machine, result } = await saved({}, (machine) => {
    machine.s3.put(`${CLUSTER}/weekly-${NODE}-1700000000`, new Uint8Array(1));
  }, { name: "weekly" });
  assert.deepEqual(machine.k3s.runs, ["save weekly"]);
  assert.notEqual(result.output?.["file"], `weekly-${NODE}-1700000000`);
});

Deno.test("snapshot.save: k3s writes a node's name in lower case", async () => {
  const { result } = await saved({ local: false, upload: "never" }, ({ host, disk, s3, clock }) => {
    host.set({ hostName: "SRV-A" });
    void clock.sleep(1_000).then(() => {
      const bytes = new TextEncoder().encode("any bytes");
      disk.put(`/var/lib/rancher/k3s/server/db/snapshots/pbx-${ID}-srv-a-1767268800`, bytes);
      s3.put(`${CLUSTER}/pbx-${ID}-srv-a-1767268800`, bytes);
    });
  });
  assert.equal(result.output?.["file"], `pbx-${ID}-srv-a-1767268800`, JSON.stringify(result));
});

Deno.test("snapshot.save: gone on with after a boot, it waits for k3s to be up", async () => {
  const { machine, result } = await saved({}, ({ k8s, clock, ports }) => {
    k8s.breakWith({ kind: "down" });
    void clock.sleep(40_000).then(() => k8s.breakWith(null));
    const { saveSnapshot } = ports.k3s;
    Object.assign(ports.k3s, {
      async saveSnapshot(...call: Parameters<typeof saveSnapshot>) {
        assert.equal(await k8s.ready(), true, "its server does not answer yet");
        return await saveSnapshot(...call);
      },
    });
  });
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.deepEqual(machine.k3s.runs, [`save pbx-${ID}`]);
});

function withoutBucket({ disk }: SavingMachine): void {
  const path = "/var/lib/pbx-agent/bootstrap.json";
  const document = JSON.parse(disk.text(path) ?? "");
  delete document.answer.secrets.etcd_s3;
  disk.put(path, JSON.stringify(document));
}

Deno.test("snapshot.save: without a copy on the node its SHA-256 is not known", async () => {
  const { machine, result } = await saved({ local: false });
  assert.deepEqual([result.state, result.output?.["sha256"]], ["succeeded", null]);
  assert.equal(machine.disk.text(SNAPSHOTS_FILE), null);
});

Deno.test("snapshot.save: a record that the disk does not take is no failure of the snapshot", async () => {
  const { result } = await saved({}, ({ ports }) => {
    const { write } = ports.disk;
    Object.assign(ports.disk, {
      write: (path: string, ...rest: [Uint8Array, number]) =>
        path.startsWith(SNAPSHOTS_FILE)
          ? Promise.resolve({ ok: false, error: { code: "full", path, message: "no room" } })
          : write(path, ...rest),
    });
  });
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  assert.match(String(result.output?.["sha256"]), /^[0-9a-f]{64}$/);
});

Deno.test("snapshot.save: without a bucket the whole file on the node counts", async () => {
  const { machine, result } = await saved({ upload: "never" }, withoutBucket);
  const { file, size, sha256 } = result.output ?? {};
  await assertNoted(machine, { name: file, size, sha256 });
  assert.deepEqual([result.state, result.output?.["location"]], ["succeeded", "local"]);
});

Deno.test("snapshot.save: a file of another format counts as far as k3s vouches for it", async () => {
  for (const [told, state] of [[9, "succeeded"], [8, "failed"], [null, "failed"]] as const) {
    const { result } = await saved({ upload: "never", local: false }, (machine) => {
      withoutBucket(machine);
      const { disk, k8s, clock } = machine;
      void clock.sleep(1_000).then(() => {
        const file = `pbx-${ID}-${NODE}-${Math.floor(clock.now() / 1000)}`;
        disk.put(`/var/lib/rancher/k3s/server/db/snapshots/${file}`, "any bytes");
        if (told === null) return;
        void clock.sleep(5_000).then(() =>
          k8s.write(`/apis/k3s.cattle.io/v1/etcdsnapshotfiles/local-one`, {
            apiVersion: "k3s.cattle.io/v1",
            kind: "ETCDSnapshotFile",
            metadata: { name: "local-one" },
            spec: { snapshotName: file },
            status: { size: String(told), readyToUse: true },
          }, "k3s")
        );
      });
    });
    assert.equal(result.state, state, JSON.stringify([told, result]));
    if (state === "failed") assert.equal(result.code, "not_whole");
  }
});

/** What k3s does wrong, and how the operation has to end. */
const TROUBLE:
  readonly (readonly [string, Saving | Saving[], (m: SavingMachine) => void, RegExp])[] = [
    [
      "the upload fails and k3s exits with 0",
      { upload: "fails" },
      () => {},
      /^failed upload_failed .*connection reset by peer.*a copy is on the node/,
    ],
    [
      "k3s exits with 0 and nothing is anywhere",
      { upload: "never", local: false },
      () => {},
      /^failed not_saved/,
    ],
    [
      "k3s fails and there is nothing",
      { exit: { code: 1 }, lines: ["Error: no S3 client"], upload: "never", local: false },
      () => {},
      /^failed not_saved .*ended with 1: Error: no S3 client/,
    ],
    [
      "k3s fails, and the snapshot is there",
      { exit: { code: 1 }, lines: ["Error: panic"] },
      () => {},
      /^succeeded/,
    ],
    [
      "k3s times out, and the work succeeds later",
      { exit: "timeout", laterMs: 120_000 },
      () => {},
      /^succeeded/,
    ],
    ["k3s exits with 0, and the upload shows later", { laterMs: 40_000 }, () => {}, /^succeeded/],
    [
      "the object is empty",
      { upload: "empty" },
      () => {},
      /^failed not_in_bucket .*is empty in the bucket.*a copy is on the node/,
    ],
    [
      "the object is too short",
      { upload: "short" },
      () => {},
      /^failed not_in_bucket .*100 bytes in the bucket, and 16416 by k3s's word/,
    ],
    [
      "another snapshot is under way",
      [
        {
          exit: { code: 1 },
          lines: ["Error: snapshot save already in progress"],
          upload: "never",
          local: false,
        },
        {},
      ],
      () => {},
      /^succeeded/,
    ],
    [
      "keys that may not list, but read",
      {},
      (m) => void (m.s3.faults.denied = ["list"]),
      /^succeeded/,
    ],
    [
      "keys that may do nothing",
      {},
      (m) => void (m.s3.faults.denied = ["list", "read"]),
      /^failed denied .*AccessDenied.*a copy is on the node/,
    ],
    [
      "a bucket that is never there",
      {},
      (m) => void (m.s3.faults.unreachable = "refused"),
      /^failed not_in_bucket .*connection refused.*a copy is on the node/,
    ],
  ];

for (const [what, saving, change, end] of TROUBLE) {
  Deno.test(`snapshot.save: ${what}`, async () => {
    const { result } = await saved(saving, change);
    assert.match(`${result.state} ${result.code ?? ""} ${result.message ?? ""}`, end);
  });
}

Deno.test("snapshot.save: an upload that k3s goes on with after two saves at once is found", async () => {
  const busy = { exit: { code: 1 }, lines: ["snapshot save already in progress"] };
  const { machine, result } = await saved([{ ...busy, laterMs: 18_000 }, {
    ...busy,
    upload: "never",
  }]);
  assert.equal(result.state, "succeeded");
  assert.equal(machine.k3s.runs.length, 1, "it was this very snapshot that was under way");
});

Deno.test("snapshot.save: a name that k3s could take for something else is refused", async () => {
  for (const name of ["", "-x", "a/b", "a b", "..", "a..b", "x".repeat(201)]) {
    const { machine, result } = await saved({}, () => {}, { name });
    assert.deepEqual([result.state, result.code], ["refused", "invalid_params"], name);
    assert.match(String(result.message), /params\.name/);
    assert.deepEqual(machine.k3s.runs, []);
  }
});

/** A snapshot that is taken once and told of as it is. */
function takenOnce(params: Record<string, string> = {}): CutCase<SavingMachine> {
  return {
    setUp: () => createSavingMachine(),
    offer: () => ({ id: ID, kind: "snapshot.save", params }),
    // The program is killed with the agent; k3s's server goes on without it.
    halves: {
      "k3s.saveSnapshot": (machine, { args }) => {
        void save(machine, String(args[0]), { laterMs: 3_000 }, () => {});
        const lines = ["Error: snapshot save already in progress"];
        machine.saving = { exit: { code: 1 }, lines, upload: "never", local: false };
      },
    },
    async assertEnd(machine, { result }) {
      const key = params["name"] === undefined ? KEY : /^weekly-demo-1-[0-9]+$/;
      assert.match(String(result.output?.["file"]), key);
      const page = await machine.s3.list(BUCKET, `${CLUSTER}/`);
      assert.equal(page.ok && page.value.objects.length, 1, "one snapshot, not two");
      const log = machine.disk.text(operationLogPath(ID)) ?? "";
      assert.ok(!log.includes("bucket-secret-key"));
    },
  };
}

Deno.test("snapshot.save: killed anywhere, it takes one snapshot and tells the truth", async () => {
  const cuts = await cutMatrix(takenOnce());
  assert.ok(cuts > 50, String(cuts));
});

Deno.test("snapshot.save: whatever the clock shows at any call, it ends as with a clock that is right", async () => {
  for (const params of [{}, { name: "weekly" }]) {
    const runs = await clockMatrix(takenOnce(params));
    assert.ok(runs > 20, String(runs));
  }
});
