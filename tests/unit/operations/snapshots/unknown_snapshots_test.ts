import assert from "node:assert/strict";
import {
  isOwnFile,
  unknownSnapshots,
  vouchedFor,
} from "../../../../core/operations/snapshots/unknown_snapshots.ts";
import type { SnapshotResource } from "../../../../core/operations/snapshots/snapshot_resource.ts";
import { type KnownSnapshot, MAX_KNOWN } from "../../../../core/state/snapshot_record.ts";

const NODES = ["Demo-1", "demo-1"];

function known(name: string, change: Partial<KnownSnapshot> = {}): KnownSnapshot {
  return { name, size: 1, sha256: "a".repeat(64), modified_ms: 100, noted_ms: 200, ...change };
}

function file(name: string, modifiedAt = 100, size = 1) {
  return { file: name, size, modifiedAt };
}

Deno.test("own snapshots: every name with this node and a time, and no other file", () => {
  const own = [
    "etcd-snapshot-demo-1-1767268800",
    "etcd-snapshot-demo-1-1767268800.zip",
    "pbx-op_1-Demo-1-1767268800",
    "demo-1-demo-1-7",
  ];
  const others = [
    "etcd-snapshot-demo-2-1767268800",
    "etcd-snapshot-demo-1-1767268800.part",
    "etcd-snapshot-demo-1-1767268800.zip.tmp",
    "etcd-snapshot-demo-1-",
    "etcd-snapshot-xdemo-1-1767268800",
    "-demo-1-1767268800",
    "demo-1-1767268800",
    ".metadata",
  ];
  for (const name of own) assert.ok(isOwnFile(name, NODES), name);
  for (const name of others) assert.ok(!isOwnFile(name, NODES), name);
});

Deno.test("unknown snapshots: newest first, without what the record has", () => {
  const there = ["a-n-5", "a-n-9", "a-n-7"].map((name) => file(name));
  const found = unknownSnapshots(there, [known("a-n-7")]);
  assert.deepEqual(found.map(({ file }) => file), ["a-n-9", "a-n-5"]);
});

Deno.test("unknown snapshots: a file that was changed since keeps its first hash", () => {
  for (const modifiedAt of [200, 300]) {
    assert.deepEqual(unknownSnapshots([file("a-n-5", modifiedAt)], [known("a-n-5")]), []);
  }
});

Deno.test("unknown snapshots: one that k3s took again with the clock set back is hashed again", () => {
  for (const modifiedAt of [50, 150]) {
    const found = unknownSnapshots([file("a-n-5", modifiedAt)], [known("a-n-5")]);
    assert.equal(found.length, 1, String(modifiedAt));
  }
});

Deno.test("unknown snapshots: a full record takes newer ones only, so nothing is hashed for nothing", () => {
  const full = Array.from({ length: MAX_KNOWN }, (_, index) => known(`a-n-${1000 + index}`));
  assert.deepEqual(unknownSnapshots([file("a-n-999"), file("a-n-1000")], full), []);
  assert.equal(unknownSnapshots([file("a-n-2000")], full).length, 1);
});

Deno.test("vouched for: k3s names the file on the node, without an error, with its size", () => {
  const told = (change: Partial<SnapshotResource>): SnapshotResource => ({
    file: "a-n-5",
    location: "local",
    size: 1,
    createdAt: null,
    error: null,
    tokenHash: null,
    ...change,
  });
  const there = [file("a-n-5")];
  assert.equal(vouchedFor(there, [told({})]).length, 1);
  for (
    const change of [
      { location: "s3" },
      { size: 2 },
      { size: null },
      { error: "failed" },
      { file: "a-n-6" },
    ] as const
  ) {
    assert.deepEqual(vouchedFor(there, [told(change)]), [], JSON.stringify(change));
  }
});
