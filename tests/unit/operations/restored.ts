import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { K3S_HOLD_DROP_IN, K3S_HOLD_FILE, RESTORE_DIRECTORY } from "../../../core/state/paths.ts";
import { runCut } from "./cut_matrix.ts";
import { type RestoreMachine, SNAPSHOT } from "./restore_world.ts";

/** The operation that the tests restore with. */
export const ID = "op_restore_1";

/** Restores, from the bucket unless told; the result. */
export async function restored(
  machine: RestoreMachine,
  params: JsonObject = {},
): Promise<OperationResult> {
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({
      id: ID,
      kind: "cluster.restore",
      params: { snapshot: SNAPSHOT, from: "s3", ...params },
    }),
    mayEnd: ["succeeded", "failed", "refused"],
    assertEnd: () => {},
  }, null);
  return result;
}

/** Nothing that matters was touched: k3s runs, nothing holds it, the old data is in its place. */
export function assertUntouched(machine: RestoreMachine): void {
  assert.equal(machine.systemd.units.get("k3s.service")?.state, "active");
  assert.deepEqual(machine.systemd.calls.filter((call) => call.startsWith("stop")), []);
  assert.deepEqual(machine.k3s.runs, []);
  assertOldDatabase(machine);
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
  assert.deepEqual(snapshotCopies(machine), []);
}

function assertOldDatabase({ disk }: RestoreMachine): void {
  assert.equal(disk.text("/var/lib/rancher/k3s/server/db/etcd/member/wal/0.wal"), "old");
}

/** k3s stays down, whoever tries to start it. */
export async function assertHeld(machine: RestoreMachine): Promise<void> {
  assert.equal(machine.systemd.units.get("k3s.service")?.state, "inactive");
  assert.ok(machine.disk.text(K3S_HOLD_FILE) !== null);
  const dropIn = `ConditionPathExists=!${K3S_HOLD_FILE}`;
  assert.ok(machine.disk.text(K3S_HOLD_DROP_IN)?.includes(dropIn));
  const stat = await machine.disk.stat(K3S_HOLD_DROP_IN);
  assert.equal(stat.ok && stat.value?.mode, 0o644);
  assert.deepEqual(snapshotCopies(machine), []);
}

/** What is left of the snapshot's copies, and of a token that was given. */
export function snapshotCopies({ disk }: RestoreMachine): readonly string[] {
  return disk.paths().filter((path) =>
    path.startsWith(RESTORE_DIRECTORY) && /received|snapshot$|given-token|server-token/.test(path)
  );
}
