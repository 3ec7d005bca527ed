import assert from "node:assert/strict";
import { createFakeDisk } from "../../../../adapters/fake/disk.ts";
import {
  type DatabaseFacts,
  hasNewSqlite,
  judgeReset,
  readDatabase,
  type ResetState,
} from "../../../../core/operations/restore/database.ts";
import { stateOfNode } from "../../../../core/operations/restore/words.ts";

const RUNNING: DatabaseFacts = {
  etcd: "whole",
  named: true,
  resetFlag: false,
  oldDatabases: ["etcd-old-1"],
  tlsBackups: ["tls-1"],
  sqliteWrittenAt: null,
  sqlite: null,
};
const ORIGIN = { ...RUNNING, seen: [] };
const MOVED = { ...RUNNING, oldDatabases: ["etcd-old-1", "etcd-old-2"] };
const NO_DATABASE: DatabaseFacts = { ...RUNNING, etcd: "absent", named: false };

/** Every state that a real k3s was seen to leave, and what else could be there. */
const STATES: readonly (readonly [string, DatabaseFacts, DatabaseFacts, ResetState])[] = [
  ["nothing happened", RUNNING, RUNNING, "untouched"],
  ["only an old flag is there", RUNNING, { ...RUNNING, resetFlag: true }, "untouched"],
  ["moved, nothing in its place", RUNNING, { ...MOVED, etcd: "absent", named: false }, "emptied"],
  ["moved, no write-ahead log", RUNNING, { ...MOVED, etcd: "bare", named: false }, "emptied"],
  [
    "moved, no write-ahead log, but a flag",
    RUNNING,
    { ...MOVED, etcd: "bare", resetFlag: true },
    "emptied",
  ],
  ["gone, and nothing was moved", RUNNING, NO_DATABASE, "emptied"],
  ["restored, no name", RUNNING, { ...MOVED, named: false }, "unnamed"],
  ["restored, name, no flag", RUNNING, MOVED, "unnamed"],
  ["flag, certificates not moved", RUNNING, { ...MOVED, resetFlag: true }, "no_certificates"],
  ["everything", RUNNING, { ...MOVED, resetFlag: true, tlsBackups: ["tls-1", "tls-2"] }, "reset"],
  ["certificates without a database moved", RUNNING, {
    ...RUNNING,
    resetFlag: true,
    tlsBackups: ["tls-1", "tls-2"],
  }, "no_certificates"],
  ["none before, none now", NO_DATABASE, NO_DATABASE, "untouched"],
  ["none before, a bare folder now", NO_DATABASE, { ...NO_DATABASE, etcd: "bare" }, "untouched"],
  ["none before, one now", NO_DATABASE, RUNNING, "unnamed"],
  [
    "a half one before, the same now",
    { ...RUNNING, etcd: "bare" },
    { ...RUNNING, etcd: "bare" },
    "untouched",
  ],
];

for (const [what, before, now, state] of STATES) {
  Deno.test(`judgeReset: ${what}: ${state}`, () => {
    assert.equal(judgeReset(before, now), state);
  });
}

Deno.test("readDatabase: what a disk shows, file by file", async () => {
  const disk = createFakeDisk();
  const db = "/var/lib/rancher/k3s/server/db";
  const seen: Partial<DatabaseFacts>[] = [];
  const look = async () => void seen.push(await readDatabase(disk));
  await look();
  disk.put(`${db}/etcd/config`, "");
  await look();
  disk.put(`${db}/etcd/member/wal/0.wal`, "");
  disk.put(`${db}/etcd/name`, "");
  await look();
  disk.put(`${db}/reset-flag`, "");
  disk.put(`${db}/etcd-old-5/x`, "");
  disk.put(`${db}/etcd-tmp/x`, "");
  disk.put("/var/lib/rancher/k3s/server/tls-7/ca.crt", "");
  disk.put("/var/lib/rancher/k3s/server/tls-other/ca.crt", "");
  disk.put(`${db}/state.db`, "");
  await look();
  assert.deepEqual(seen.map(({ etcd, named }) => [etcd, named]), [
    ["absent", false],
    ["bare", false],
    ["whole", true],
    ["whole", true],
  ]);
  const { resetFlag, oldDatabases, tlsBackups, sqliteWrittenAt } = seen[3] ?? {};
  assert.deepEqual([resetFlag, oldDatabases, tlsBackups], [true, ["etcd-old-5"], ["tls-7"]]);
  assert.equal(sqliteWrittenAt, 0);
});

Deno.test("hasNewSqlite: one that was there and was not written is no new one", () => {
  const old = { ...RUNNING, sqliteWrittenAt: 5 };
  assert.equal(hasNewSqlite(RUNNING, RUNNING), false);
  assert.equal(hasNewSqlite(old, old), false);
  assert.equal(hasNewSqlite(RUNNING, old), true);
  assert.equal(hasNewSqlite(old, { ...old, sqliteWrittenAt: 6 }), true);
});

Deno.test("stateOfNode: says where the old data is, what holds k3s and what to do", () => {
  const words = stateOfNode(RUNNING, { ...MOVED, etcd: "bare" }, ORIGIN);
  for (const part of ["db/etcd-old-2", "/var/lib/pbx-agent/hold-k3s", "Do not start k3s by hand"]) {
    assert.ok(words.includes(part), part);
  }
  assert.ok(!stateOfNode(RUNNING, RUNNING, ORIGIN).includes("Do not start"));
  assert.match(stateOfNode(RUNNING, NO_DATABASE, ORIGIN), /the old data is not in \S+ any more/);
  const made = { ...RUNNING, named: false };
  assert.match(stateOfNode(NO_DATABASE, made, { ...NO_DATABASE, seen: [] }), /no database before/);
});

Deno.test("stateOfNode: after a restore that failed, the old data is what k3s last ran on", () => {
  const left = { ...MOVED, etcd: "bare" as const };
  const twice = { ...left, oldDatabases: [...MOVED.oldDatabases, "etcd-old-3"] };
  for (const now of [left, twice]) {
    const words = stateOfNode(left, now, ORIGIN);
    assert.match(words, /the old data is whole in \S+\/etcd-old-2;/);
    assert.match(words, /Do not start k3s by hand/);
  }
});
