import assert from "node:assert/strict";
import { createFakeDisk, type FakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import type { Disk, DiskError } from "../../../core/ports/disk.ts";
import type { Result } from "../../../core/result.ts";
import { type Bootstrap, loadBootstrap, saveBootstrap } from "../../../core/state/bootstrap.ts";
import type { Found } from "../../../core/state/durable.ts";
import { loadIdentity, newKeys, saveIdentity } from "../../../core/state/identity.ts";
import { BOOTSTRAP_FILE, IDENTITY_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { EMPTY_STATE } from "../../../core/state/state.ts";
import { loadState, openStore } from "../../../core/state/store.ts";
import answer from "../../../fixtures/protocol/enroll_answer.json" with { type: "json" };

const BINDING = {
  agent_id: "agent-1",
  cluster_id: "demo",
  node_name: "demo-1",
  server_id: "4711001",
  portal: "https://agents.example.com/agent/v1",
};

const BOOTSTRAP = { server_id: "4711001", portal: BINDING.portal, answer } as unknown as Bootstrap;

interface Document {
  readonly path: string;
  readonly save: (disk: Disk) => Promise<unknown>;
  readonly load: (disk: Disk) => Promise<Result<Found<unknown>, DiskError>>;
}

function identity(seed: number) {
  return { binding: BINDING, keys: newKeys(createFakeRandom(seed), "2026-01-01T00:00:00Z") };
}

const DOCUMENTS: readonly Document[] = [
  { path: IDENTITY_FILE, save: (disk) => saveIdentity(disk, identity(1)), load: loadIdentity },
  { path: BOOTSTRAP_FILE, save: (disk) => saveBootstrap(disk, BOOTSTRAP), load: loadBootstrap },
  {
    path: STATE_FILE,
    save: (disk) => openStore(disk, EMPTY_STATE, null).flush(),
    load: loadState,
  },
];

async function find({ load }: Document, disk: FakeDisk): Promise<Found<unknown>> {
  const found = await load(disk);
  assert.ok(found.ok);
  return found.value;
}

Deno.test("documents: written with mode 0600 and read again as they were", async () => {
  for (const document of DOCUMENTS) {
    const disk = createFakeDisk();
    assert.deepEqual(await find(document, disk), { kind: "absent" });
    await document.save(disk);
    assert.equal((await find(document, disk)).kind, "loaded", document.path);
    const stat = await disk.stat(document.path);
    assert.equal(stat.ok && stat.value?.mode, 0o600);
    assert.equal(JSON.parse(disk.text(document.path) ?? "").format, 1);
  }
});

Deno.test("documents: a newer format is told, and nothing of it is changed", async () => {
  for (const document of DOCUMENTS) {
    const disk = createFakeDisk();
    disk.put(document.path, '{"format": 2, "whatever": true}');
    assert.deepEqual(await find(document, disk), { kind: "newer", format: 2 }, document.path);
    assert.deepEqual(disk.writes(), []);
  }
});

Deno.test("documents: what is no whole document is unreadable, and its content is never quoted", async () => {
  const texts = [
    "",
    "{",
    "null",
    "[]",
    '"secret-text"',
    "{}",
    '{"format": 0}',
    '{"format": "1"}',
    '{"format": 1, "keys": "secret-text", "answer": "secret-text", "stage": "secret-text"}',
    "\ufeff{}",
  ];
  for (const document of DOCUMENTS) {
    for (const text of texts) {
      const disk = createFakeDisk();
      disk.put(document.path, text);
      const found = await find(document, disk);
      assert.equal(found.kind, "unreadable", `${document.path}: ${text}`);
      assert.ok(!JSON.stringify(found).includes("secret-text"), JSON.stringify(found));
    }
    const disk = createFakeDisk();
    disk.put(document.path, new Uint8Array([0x22, 0xff, 0x22]));
    assert.equal((await find(document, disk)).kind, "unreadable");
  }
});

Deno.test("documents: truncated to zero beside a whole temporary file, the temporary file counts", async () => {
  for (const document of DOCUMENTS) {
    const disk = createFakeDisk();
    await document.save(disk);
    const whole = disk.text(document.path) ?? "";
    disk.truncate(document.path);
    assert.equal((await find(document, disk)).kind, "unreadable");
    disk.put(`${document.path}.tmp`, whole);
    assert.equal((await find(document, disk)).kind, "loaded");
    assert.equal(disk.text(document.path), whole);
  }
});

Deno.test("saveIdentity: both pairs of a rotation survive; nothing prints a key", async () => {
  const disk = createFakeDisk();
  const both = { ...identity(1), previous: newKeys(createFakeRandom(2), "2025-01-01T00:00:00Z") };
  await saveIdentity(disk, both);
  const found = await loadIdentity(disk);
  assert.ok(found.ok && found.value.kind === "loaded");
  const { keys, previous, binding } = found.value.value;
  assert.deepEqual(keys.signing.reveal(), both.keys.signing.reveal());
  assert.deepEqual(previous?.sealing.reveal(), both.previous.sealing.reveal());
  assert.deepEqual(binding, BINDING);
  assert.match(JSON.stringify(found.value.value), /"signing":"\[secret\]"/);
});

Deno.test("loadIdentity: keys of a wrong length or IDs of a wrong form are no identity", async () => {
  const disk = createFakeDisk();
  await saveIdentity(disk, identity(1));
  const whole = JSON.parse(disk.text(IDENTITY_FILE) ?? "");
  const faults = [
    { ...whole, keys: { ...whole.keys, signing: "AAAA" } },
    { ...whole, keys: { ...whole.keys, sealing: "no base64" } },
    { ...whole, binding: { ...BINDING, agent_id: "../x" } },
    { ...whole, binding: { ...BINDING, node_name: "a/b" } },
  ];
  for (const fault of faults) {
    disk.put(IDENTITY_FILE, JSON.stringify(fault));
    const found = await loadIdentity(disk);
    assert.ok(found.ok && found.value.kind === "unreadable");
  }
});

Deno.test("state.json: a condition that only a newer version knows is left out, and the rest is read", async () => {
  const disk = createFakeDisk();
  const since = "2026-01-01T00:00:00Z";
  const known = { code: "disk_full", message: "m", since };
  const conditions = [{ code: "of_tomorrow", message: "m", since }, known];
  disk.put(STATE_FILE, JSON.stringify({ format: 1, ...EMPTY_STATE, conditions }), 0o600);
  const found = await loadState(disk);
  assert.ok(found.ok && found.value.kind === "loaded");
  assert.deepEqual(found.value.value.conditions, [known]);
});
