import assert from "node:assert/strict";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { snapshotBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import { CLUSTER } from "./machine.ts";
import { createRestoreMachine, SNAPSHOT, TOKEN, UID } from "./restore_world.ts";
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
