import assert from "node:assert/strict";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { newKeys, saveIdentity } from "../../../core/state/identity.ts";
import { SNAPSHOTS_FILE } from "../../../core/state/paths.ts";
import {
  type KnownSnapshot,
  MAX_KNOWN,
  openSnapshotRecord,
  withSnapshots,
} from "../../../core/state/snapshot_record.ts";

function known(name: string, change: Partial<KnownSnapshot> = {}): KnownSnapshot {
  return { name, size: 1, sha256: "a".repeat(64), modified_ms: 1, noted_ms: 2, ...change };
}

async function list(disk: ReturnType<typeof createFakeDisk>): Promise<readonly string[]> {
  const all = await openSnapshotRecord(disk).all();
  assert.ok(all.ok);
  return all.value.map(({ name }) => name);
}

Deno.test("snapshots.json: has mode 0600, names its agent, and is read again by the next start", async () => {
  const disk = createFakeDisk();
  const binding = {
    agent_id: "agent-1",
    cluster_id: "demo",
    node_name: "demo-1",
    server_id: "1",
    portal: "https://example.com",
  };
  await saveIdentity(disk, {
    binding,
    keys: newKeys(createFakeRandom(1), "2026-01-01T00:00:00Z"),
  });
  const record = openSnapshotRecord(disk);
  await record.note([known("a-demo-1-1")]);
  await record.note([known("a-demo-1-2"), known("a-demo-1-1", { size: 9 })]);
  const stat = await disk.stat(SNAPSHOTS_FILE);
  assert.equal(stat.ok && stat.value?.mode, 0o600);
  const document = JSON.parse(disk.text(SNAPSHOTS_FILE) ?? "");
  assert.deepEqual([document.format, document.agent], [1, "agent-1"]);
  const again = openSnapshotRecord(disk);
  const found = await again.find("a-demo-1-1");
  assert.equal(found.ok && found.value?.size, 9);
  assert.deepEqual(await list(disk), ["a-demo-1-2", "a-demo-1-1"]);
  const none = await again.find("a-demo-1-3");
  assert.deepEqual(none, { ok: true, value: null });

  disk.put(SNAPSHOTS_FILE, JSON.stringify({ ...document, agent: "agent-2" }));
  assert.deepEqual(await list(disk), [], "another agent's");
});

Deno.test("snapshots.json: two that note at once lose nothing", async () => {
  const disk = createFakeDisk();
  const record = openSnapshotRecord(disk);
  await Promise.all(["a-1", "b-2", "c-3"].map((name) => record.note([known(name)])));
  assert.deepEqual(await list(disk), ["a-1", "b-2", "c-3"]);
});

Deno.test("snapshots.json: a damaged one is begun again, a newer one is never written over", async () => {
  const disk = createFakeDisk();
  disk.put(SNAPSHOTS_FILE, "{");
  assert.deepEqual(await list(disk), []);
  await openSnapshotRecord(disk).note([known("a-1")]);
  assert.deepEqual(await list(disk), ["a-1"]);
  const newer = JSON.stringify({ format: 2, whatever: true });
  disk.put(SNAPSHOTS_FILE, newer);
  assert.deepEqual(await openSnapshotRecord(disk).note([known("b-2")]), {
    ok: true,
    value: undefined,
  });
  assert.equal(disk.text(SNAPSHOTS_FILE), newer);
  assert.deepEqual(await list(disk), []);
});

Deno.test("snapshots.json: one that cannot be read is an error, and is not written over", async () => {
  const disk = createFakeDisk();
  const error = { code: "io", path: SNAPSHOTS_FILE, message: "I/O error" } as const;
  const broken = openSnapshotRecord({ ...disk, read: () => Promise.resolve({ ok: false, error }) });
  assert.deepEqual(await broken.find("a-1"), { ok: false, error });
  assert.deepEqual(await broken.note([known("a-1")]), { ok: false, error });
  assert.equal(disk.text(SNAPSHOTS_FILE), null);
});

Deno.test("snapshots.json: holds 500, and the newest by their names stay", () => {
  const names = Array.from({ length: MAX_KNOWN }, (_, index) => `s-demo-1-${1000 + index}.zip`);
  const full = names.map((name) => known(name));
  const more = withSnapshots(full, [known("later-demo-1-5000"), known("early-demo-1-7")]);
  assert.equal(more.length, MAX_KNOWN);
  const kept = new Set(more.map(({ name }) => name));
  assert.ok(kept.has("later-demo-1-5000"));
  assert.ok(!kept.has("early-demo-1-7"));
  assert.ok(!kept.has("s-demo-1-1000.zip"));
  assert.ok(kept.has("s-demo-1-1001.zip"));
});
