import assert from "node:assert/strict";
import { cutMatrix } from "./cut_matrix.ts";
import { createRejoinMachine, DB, type RejoinMachine } from "./rejoin_world.ts";
import { openAgent } from "./machine.ts";

const WAL = `${DB}/etcd/member/wal/0.wal`;

Deno.test("server.rejoin: killed at every call, and another member lost meanwhile: what was not wiped stays", async () => {
  const box: { machine?: RejoinMachine; processes: number; wasWiped: boolean } = {
    processes: 0,
    wasWiped: false,
  };
  const kept = { times: 0 };
  const cuts = await cutMatrix<RejoinMachine>({
    setUp() {
      box.processes = 0;
      return box.machine = createRejoinMachine();
    },
    offer: () => ({ id: "op_join", kind: "server.rejoin", params: {} }),
    halves: { "servers.removeMember": ({ peers }) => peers.splice(0, 1) },
    mayEnd: ["succeeded", "failed"],
    open(ports, stop) {
      box.processes += 1;
      const { machine } = box;
      if (box.processes === 2 && machine !== undefined) {
        box.wasWiped = machine.disk.text(WAL) !== "old";
        machine.third.healthy = false;
      }
      return openAgent(ports, stop);
    },
    assertEnd({ disk, systemd }, { result, cut }) {
      if (cut === null || box.wasWiped) return;
      kept.times += 1;
      assert.equal(disk.text(WAL), "old", "it is wiped, and the others are no majority");
      assert.equal(result.state, "failed");
      assert.equal(systemd.units.get("k3s.service")?.state, "active", result.message ?? "");
    },
  }, "in_turn");
  assert.ok(cuts > 100 && kept.times > 50, `${cuts} cuts, ${kept.times} before the wipe`);
});
