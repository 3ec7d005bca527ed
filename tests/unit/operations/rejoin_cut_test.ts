import assert from "node:assert/strict";
import { clockMatrix, type CutCase, cutMatrix } from "./cut_matrix.ts";
import { assertJoined, createRejoinMachine, type RejoinMachine } from "./rejoin_world.ts";

/** A rejoin that joins once. */
function joining(): CutCase<RejoinMachine> {
  return {
    setUp: () => createRejoinMachine(),
    offer: () => ({ id: "op_join", kind: "server.rejoin", params: {} }),
    halves: {
      "servers.removeMember": ({ peers }) => peers.splice(0, 1),
    },
    assertEnd(machine) {
      assertJoined(machine);
      assert.ok(machine.removed.length <= 1, "its new member is never taken out");
    },
  };
}

Deno.test("server.rejoin: killed at every call, it joins once, and never without a majority of others", async () => {
  const cuts = await cutMatrix(joining());
  assert.ok(cuts > 100, `${cuts} cuts`);
});

Deno.test("server.rejoin: whatever the clock shows at any call, it ends as with a clock that is right", async () => {
  const runs = await clockMatrix(joining());
  assert.ok(runs > 40, `${runs} runs`);
});
