import assert from "node:assert/strict";
import type { OperationResult } from "../../../core/protocol/operation.ts";
import { runCut } from "./cut_matrix.ts";
import { assertDisarmed, upgradeCase } from "./upgrade_case.ts";
import {
  createUpgradeMachine,
  FROM_ENTRY,
  TO_ENTRY,
  type UpgradeMachine,
} from "./upgrade_world.ts";

Deno.test("cluster.upgrade: a systemd that refuses the return is asked once, and the timer returns", async () => {
  const { machine, result } = await ended(() => {
    const machine = createUpgradeMachine(["not_ready"]);
    const { reboot } = machine.ports.systemd;
    Object.assign(machine.ports.systemd, {
      reboot() {
        if (machine.boots.length === 1) return reboot();
        machine.systemd.failNext("failed");
        return machine.systemd.reboot();
      },
    });
    return machine;
  });
  assert.deepEqual([result.step, result.code], ["health_gate", "gate_failed"]);
  assert.match(String(result.message), /Node demo-1 is not Ready/);
  assert.equal(machine.systemd.calls.filter((call) => call === "reboot").length, 2);
  assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY, FROM_ENTRY]);
  assertDisarmed(machine);
});

Deno.test("cluster.upgrade: where the return cannot be noted, the timer alone restarts the node", async () => {
  const { machine, result } = await ended(() => {
    const machine = createUpgradeMachine(["not_ready"]);
    machine.disk.onCall((operation, path) =>
      machine.boots.length === 2 && operation === "write" && path.includes(".reboots")
        ? "full"
        : null
    );
    return machine;
  });
  assert.deepEqual([result.step, result.code], ["health_gate", "gate_failed"]);
  assert.equal(machine.systemd.calls.filter((call) => call === "reboot").length, 1);
  assert.deepEqual(machine.boots, [FROM_ENTRY, TO_ENTRY, FROM_ENTRY]);
});

Deno.test("cluster.upgrade: an order that was lost on its way to systemd is not given again, and ends", async () => {
  const one = upgradeCase(() => createUpgradeMachine());
  const whole = await runCut(one, null);
  const call = whole.calls.findIndex(({ name }) => name === "systemd.reboot") + 1;
  const began = Date.parse(whole.journal.begun_at);
  const { result, calls, journal } = await runCut(one, { call, moment: "before" });
  assert.deepEqual([result.step, result.code], ["reboot", "unclear"]);
  assert.match(
    String(result.message),
    /the reboot was ordered; the boot ID was .* a new cluster\.upgrade may follow/,
  );
  assert.ok(!calls.some(({ name }) => name === "systemd.reboot"));
  const took = Date.parse(journal.steps.at(-1)?.ended_at ?? "") - began;
  assert.ok(took < 15 * 60_000, `${took} ms`);
});

Deno.test("cluster.upgrade: an agent that the shutdown kills waits in the same boot until the node is down", async () => {
  const one = upgradeCase(() => createUpgradeMachine(["good"], { bootIds: "kept" }));
  const whole = await runCut(one, null);
  const call = whole.calls.findIndex(({ name }) => name === "systemd.reboot") + 1;
  const { result } = await runCut(one, { call, moment: "after" });
  assert.equal(result.state, "succeeded", JSON.stringify(result));
});

Deno.test("cluster.upgrade: a return whose link a power cut could take back starts no new image", async () => {
  const { machine, result } = await ended(() => {
    const machine = createUpgradeMachine();
    const links = "/etc/systemd/system/timers.target.wants";
    machine.disk.onCall((operation, path) =>
      operation === "syncDirectory" && path === links ? "io" : null
    );
    return machine;
  });
  assert.deepEqual([result.step, result.code], ["reboot", "reboot_failed"]);
  assert.match(String(result.message), /the way back cannot be armed/);
  assert.deepEqual(machine.boots, [FROM_ENTRY]);
  assertDisarmed(machine);
});

/** An upgrade to its end, in one go. */
async function ended(
  setUp: () => UpgradeMachine,
): Promise<{ machine: UpgradeMachine; result: OperationResult }> {
  const box: { machine?: UpgradeMachine } = {};
  const one = upgradeCase(() => box.machine = setUp());
  const { result } = await runCut({ ...one, assertEnd() {} }, null);
  assert.ok(box.machine);
  return { machine: box.machine, result };
}
