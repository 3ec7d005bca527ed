import assert from "node:assert/strict";
import { K3S_HOLD_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { runCut } from "./cut_matrix.ts";
import { createRejoinMachine, type RejoinMachine } from "./rejoin_world.ts";

/** What becomes of a rejoin that is offered while the node's own API is down. */
async function rejoined(machine: RejoinMachine, id: string) {
  const { result } = await runCut({
    setUp: () => machine,
    offer: () => ({ id, kind: "server.rejoin", params: {} }),
    apiUp: false,
    mayEnd: ["succeeded", "failed", "refused"],
    assertEnd: () => {},
  }, null);
  return result;
}

/** The agent has lost its state, and hears from its portal what is desired. */
function loseState({ disk }: RejoinMachine): void {
  const { finished: _, operation: __, kube_system_uid: ___, ...rest } = JSON.parse(
    disk.text(STATE_FILE) ?? "",
  );
  const lost = { ...rest, finished: {}, operation: null, kube_system_uid: null };
  disk.put(STATE_FILE, JSON.stringify(lost));
}

Deno.test("server.rejoin: a new one ends what a lost state.json cut short between the wipe and the start", async () => {
  const machine = createRejoinMachine();
  const { disk } = machine.ports;
  const { remove } = disk;
  Object.assign(disk, {
    // A disk that fails is waited for once the database is wiped: only a fault of the agent ends it here.
    remove(path: string) {
      if (path === K3S_HOLD_FILE) throw new Error("cut short here");
      return remove(path);
    },
  });
  const first = await rejoined(machine, "op_first");
  assert.deepEqual([first.state, first.step], ["failed", "start_k3s"], JSON.stringify(first));
  Object.assign(disk, { remove });
  loseState(machine);

  const again = await rejoined(machine, "op_first");
  assert.deepEqual([again.step, again.code], ["wipe_db", "unclear"], "it is never begun anew");
  loseState(machine);
  const next = await rejoined(machine, "op_next");
  assert.equal(next.state, "succeeded", JSON.stringify(next));
  assert.equal(machine.disk.text(K3S_HOLD_FILE), null);
});

Deno.test("server.rejoin: the same one begins anew where the state was lost before the wipe", async () => {
  const machine = createRejoinMachine();
  const { systemd } = machine.ports;
  const { stop } = systemd;
  Object.assign(systemd, {
    async stop(unit: string) {
      await stop(unit);
      throw new Error("cut short here");
    },
  });
  const first = await rejoined(machine, "op_first");
  assert.equal(first.step, "stop_k3s");
  Object.assign(systemd, { stop });
  loseState(machine);
  const again = await rejoined(machine, "op_first");
  assert.equal(again.state, "succeeded", JSON.stringify(again));
});
