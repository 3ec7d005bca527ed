import assert from "node:assert/strict";
import { snapshotBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import { fail } from "../../../core/result.ts";
import { type CutCase, runCut } from "./cut_matrix.ts";
import type { Machine } from "./machine.ts";
import { createRejoinMachine } from "./rejoin_world.ts";
import { createRestoreMachine, LOCAL_SNAPSHOT, SNAPSHOT, TOKEN, UID } from "./restore_world.ts";

const K3S = "k3s.service";

/** The next `times` starts of k3s fail as a systemctl does that got no answer in time. */
function failStarts({ ports }: Machine, times: number): void {
  const { start } = ports.systemd;
  let left = times;
  Object.assign(ports.systemd, {
    start(unit: string) {
      if (unit !== K3S || left === 0) return start(unit);
      left -= 1;
      const program = "/usr/bin/systemctl";
      return Promise.resolve(fail({ code: "timeout", program, message: "no answer in 30 s" }));
    },
  });
}

const RESTORE: CutCase<Machine> = {
  setUp() {
    const machine = createRestoreMachine();
    machine.disk.put(LOCAL_SNAPSHOT, snapshotBytes({ tokens: [TOKEN], texts: [UID] }));
    return machine;
  },
  offer: () => ({
    id: "op_start",
    kind: "cluster.restore",
    params: { from: "local", snapshot: SNAPSHOT },
  }),
  assertEnd: () => {},
};

const REJOIN: CutCase<Machine> = {
  setUp: () => createRejoinMachine(),
  offer: () => ({ id: "op_start", kind: "server.rejoin", params: {} }),
  assertEnd: () => {},
};

for (const [kind, one] of [["cluster.restore", RESTORE], ["server.rejoin", REJOIN]] as const) {
  Deno.test(`${kind}: a systemctl that fails for a moment does not leave k3s stopped`, async () => {
    const setUp = async () => {
      const machine = await one.setUp();
      failStarts(machine, 3);
      return machine;
    };
    const { result } = await runCut({ ...one, setUp, mayEnd: ["succeeded", "failed"] }, null);
    assert.equal(result.state, "succeeded", JSON.stringify(result));
  });
}
