import assert from "node:assert/strict";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { snapshotBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import { SNAPSHOTS_FILE } from "../../../core/state/paths.ts";
import { CLUSTER } from "./machine.ts";
import {
  createRestoreMachine,
  LOCAL_SNAPSHOT,
  type RestoreMachine,
  SNAPSHOT,
  TOKEN,
  UID,
} from "./restore_world.ts";
import { assertUntouched, restored } from "./restored.ts";

Deno.test("cluster.restore: another file than the one with the given SHA-256 is refused while k3s runs", async () => {
  for (const from of ["s3", "local"]) {
    const machine = await createRestoreMachine();
    const result = await restored(machine, { from, sha256: "0".repeat(64) });
    assert.deepEqual([result.state, result.code], ["failed", "snapshot_changed"], from);
    assert.match(result.message ?? "", /has the SHA-256 [0-9a-f]{64}, and params.sha256 is 0{64}/);
    assertUntouched(machine);
  }
});

Deno.test("cluster.restore: the file with the given SHA-256 is restored", async () => {
  const machine = await createRestoreMachine();
  const bytes = snapshotBytes({ tokens: [TOKEN], texts: [UID] });
  machine.s3.put(`${CLUSTER}/${SNAPSHOT}`, bytes);
  const result = await restored(machine, { sha256: bytesToHex(sha256(bytes)) });
  assert.equal(result.state, "succeeded", JSON.stringify(result));
});

/** The agent saw the snapshot on the node when k3s had written it. */
async function noteLocal(
  { disk }: RestoreMachine,
  change: Record<string, unknown> = {},
): Promise<string> {
  const read = await disk.read(LOCAL_SNAPSHOT);
  assert.ok(read.ok && read.value !== null);
  const bytes = read.value;
  const hash = bytesToHex(sha256(bytes));
  const known = {
    name: SNAPSHOT,
    size: bytes.length,
    sha256: hash,
    modified_ms: 1,
    noted_ms: 2,
    ...change,
  };
  disk.put(SNAPSHOTS_FILE, JSON.stringify({ format: 1, snapshots: [known] }), 0o600);
  return hash;
}

Deno.test("cluster.restore: a snapshot that was changed since k3s wrote it is refused while k3s runs", async () => {
  // Whole, of this cluster, and as long as the true one: only the hash tells.
  const other = snapshotBytes({ tokens: [TOKEN, "another-one"], texts: [UID] });
  for (const from of ["s3", "local"]) {
    for (const more of [{}, { sha256: bytesToHex(sha256(other)) }]) {
      const machine = createRestoreMachine();
      await noteLocal(machine, { size: other.length });
      if (from === "s3") machine.s3.put(`${CLUSTER}/${SNAPSHOT}`, other);
      else machine.disk.put(LOCAL_SNAPSHOT, other);
      const result = await restored(machine, { from, ...more });
      assert.deepEqual([result.state, result.code], ["failed", "snapshot_changed"], from);
      assert.match(result.message ?? "", /and the file that k3s wrote had [0-9a-f]{64}/);
      assertUntouched(machine);
    }
  }
});

Deno.test("cluster.restore: a snapshot of another size is refused before it is fetched", async () => {
  const machine = createRestoreMachine();
  await noteLocal(machine, { size: 7 });
  const { get } = machine.ports.s3;
  let gets = 0;
  Object.assign(machine.ports.s3, {
    get: (...call: Parameters<typeof get>) => {
      gets += 1;
      return get(...call);
    },
  });
  const result = await restored(machine);
  assert.deepEqual([result.state, result.code, gets], ["failed", "snapshot_changed", 0]);
  assert.match(result.message ?? "", /has [0-9]+ bytes, and k3s wrote 7/);
  assertUntouched(machine);
});

Deno.test("cluster.restore: the snapshot as k3s wrote it is restored, by its record or by its name alone", async () => {
  for (const from of ["s3", "local"]) {
    const machine = createRestoreMachine();
    const hash = await noteLocal(machine);
    const result = await restored(machine, { from, sha256: hash });
    assert.equal(result.state, "succeeded", JSON.stringify(result));
  }
});

Deno.test("cluster.restore: a record that cannot be read for a while is waited for", async () => {
  const machine = createRestoreMachine();
  await noteLocal(machine, { sha256: "0".repeat(64) });
  const { read } = machine.ports.disk;
  let failures = 3;
  Object.assign(machine.ports.disk, {
    read: (path: string, maxBytes?: number) =>
      path === SNAPSHOTS_FILE && failures-- > 0
        ? Promise.resolve({ ok: false, error: { code: "io", path, message: "I/O error" } })
        : read(path, maxBytes),
  });
  const result = await restored(machine);
  assert.equal(result.code, "snapshot_changed", JSON.stringify(result));
  assertUntouched(machine);
});
