import assert from "node:assert/strict";
import { createFakeDisk } from "../../../../adapters/fake/disk.ts";
import { readDatabase } from "../../../../core/operations/restore/database.ts";
import { oldestFirst, type Origin } from "../../../../core/operations/restore/origin.ts";
import { createRestoreMachine, type RestoreMachine } from "../restore_world.ts";
import { restored } from "../restored.ts";
import { removeOld, toRemove } from "../../../../core/operations/restore/remove_old.ts";

const SERVER = "/var/lib/rancher/k3s/server";

for (
  const [what, names, data, seen, gone] of [
    ["the first restore", ["etcd-old-5"], "etcd-old-5", [], []],
    ["the second", ["etcd-old-5", "etcd-old-9"], "etcd-old-9", ["etcd-old-5"], []],
    [
      "the third: the oldest goes",
      ["etcd-old-10", "etcd-old-5", "etcd-old-9"],
      "etcd-old-10",
      ["etcd-old-5", "etcd-old-9"],
      ["etcd-old-5"],
    ],
    [
      "numbers, not letters",
      ["etcd-old-100", "etcd-old-20", "etcd-old-9"],
      "etcd-old-100",
      [],
      ["etcd-old-9"],
    ],
    [
      "a clock that was set back: what is new is the newest all the same",
      ["etcd-old-1", "etcd-old-5", "etcd-old-9"],
      "etcd-old-1",
      ["etcd-old-5", "etcd-old-9"],
      ["etcd-old-5"],
    ],
    [
      "a clock that was set back before this restore",
      ["etcd-old-3", "etcd-old-5", "etcd-old-9"],
      "etcd-old-5",
      ["etcd-old-9", "etcd-old-3"],
      ["etcd-old-9"],
    ],
    [
      "failed restores before it: the cluster's data stays, though it is not among the two newest",
      ["etcd-old-3", "etcd-old-5", "etcd-old-7", "etcd-old-9"],
      "etcd-old-5",
      ["etcd-old-3", "etcd-old-5", "etcd-old-7"],
      ["etcd-old-3", "etcd-old-7"],
    ],
    [
      "the same, the clock set back",
      ["etcd-old-1", "etcd-old-5", "etcd-old-7", "etcd-old-9"],
      "etcd-old-7",
      ["etcd-old-9", "etcd-old-7", "etcd-old-5"],
      ["etcd-old-9", "etcd-old-5"],
    ],
    ["nothing known of the data", ["tls-1", "tls-2", "tls-3"], undefined, [], ["tls-1"]],
  ] as const
) {
  Deno.test(`toRemove: ${what}`, async () => {
    const facts = await readDatabase(createFakeDisk());
    assert.deepEqual(toRemove(oldestFirst({ ...facts, seen: [...seen] }, names), data), gone);
  });
}

async function nodeWith(databases: readonly string[], tls: readonly string[]) {
  const disk = createFakeDisk();
  const put = async (path: string, size: number) => {
    await disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), 0o700);
    await disk.write(path, new Uint8Array(size), 0o600);
  };
  for (const name of databases) await put(`${SERVER}/db/${name}/member/snap/db`, 2_000_000);
  for (const name of tls) await put(`${SERVER}/${name}/server.key`, 1_000);
  await put(`${SERVER}/db/etcd/member/wal/0.wal`, 1);
  await put(`${SERVER}/tls/server.key`, 1);
  return disk;
}

Deno.test("removeOld: two of each stay, and it says how much room went and is left", async () => {
  const before = ["etcd-old-1", "etcd-old-2", "etcd-old-mine"];
  const disk = await nodeWith([...before, "etcd-old-3"], ["tls-1", "tls-2", "tls-3"]);
  const facts = await readDatabase(disk);
  const earlier = { ...facts, oldDatabases: before, tlsBackups: ["tls-1", "tls-2"] };
  const origin: Origin = { ...earlier, seen: [] };
  const said = await removeOld(disk, origin);
  const now = await readDatabase(disk);
  assert.deepEqual(now.oldDatabases, ["etcd-old-2", "etcd-old-3", "etcd-old-mine"]);
  assert.deepEqual(now.tlsBackups, ["tls-2", "tls-3"]);
  assert.equal(now.etcd, "whole");
  assert.match(
    said,
    /^of earlier restores 3 MB were removed; what was there before stays \(7 MB\): /,
  );
  assert.match(said, /db\/etcd-old-3/);
  assert.equal(
    await removeOld(disk, origin),
    said.replace(/^.*removed; /, ""),
    "a second time removes nothing",
  );
});

Deno.test("removeOld: a disk that takes no change is said, and nothing fails", async () => {
  const names = ["etcd-old-1", "etcd-old-2", "etcd-old-3"];
  const disk = await nodeWith(names, []);
  const facts = await readDatabase(disk);
  disk.setReadOnly(true);
  const earlier = { ...facts, oldDatabases: names.slice(0, 2) };
  assert.match(
    await removeOld(disk, { ...earlier, seen: [] }),
    /^could not be removed: .*; what was there before stays/,
  );
});

Deno.test("cluster.restore: what earlier restores moved aside goes once this one is proven, and not before", async () => {
  const folders = async (machine: RestoreMachine) =>
    (await readDatabase(machine.disk)).oldDatabases.length;
  const prepared = () => {
    const machine = createRestoreMachine();
    for (const number of [11, 12, 13]) {
      machine.disk.put(`${SERVER}/db/etcd-old-${number}/member/snap/db`, "old");
      machine.disk.put(`${SERVER}/tls-${number}/server.key`, "old");
    }
    return machine;
  };
  const machine = prepared();
  assert.equal((await restored(machine)).state, "succeeded");
  const now = await readDatabase(machine.disk);
  assert.ok(now.oldDatabases.includes("etcd-old-13"), now.oldDatabases.join());
  assert.deepEqual([now.oldDatabases.length, now.tlsBackups.length], [2, 2]);

  const failing = prepared();
  const wrong = await restored(failing, {
    kube_system_uid: "11111111-2222-3333-4444-555555555555",
  });
  assert.equal(wrong.state, "failed");
  assert.ok(await folders(failing) >= 3, "something was removed for a restore that is not proven");
});
