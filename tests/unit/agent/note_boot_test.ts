import assert from "node:assert/strict";
import { noteBoot } from "../../../core/agent/note_boot.ts";
import { K3S_HOLD_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { mortalPorts, type PortCall } from "../operations/cut_ports.ts";
import { createMachine, type Machine, openAgent } from "../operations/machine.ts";
import { createSettledWorld, type World } from "./world.ts";

const K3S = "k3s.service";

/** A machine after a boot that did not start k3s; its agent knows the boot before. */
async function booted(): Promise<Machine> {
  const machine = createMachine();
  await noteBoot(await openAgent(machine.ports));
  machine.reboot();
  machine.systemd.units.set(K3S, { state: "inactive", enabled: false });
  return machine;
}

function starts({ systemd }: Pick<Machine, "systemd">): number {
  return systemd.calls.filter((call) => call === `start ${K3S}`).length;
}

function isUp({ systemd }: Pick<Machine, "systemd">): boolean {
  return systemd.units.get(K3S)?.state === "active";
}

/** Runs one process on the machine, dead at the cut. */
async function cutAt(machine: Machine, call: number, moment: "before" | "after") {
  const calls: PortCall[] = [];
  const cut = { call, moment };
  const process = mortalPorts({}, machine, { calls, cut, reached: { calls: 0 } });
  let isOver = false;
  void openAgent(process.ports).then(noteBoot).finally(() => isOver = true);
  for (let turn = 0; turn < 200 && !isOver && !process.isDead(); turn++) await Promise.resolve();
  machine.disk.restart();
  return { isOver, calls };
}

Deno.test("noteBoot: killed at any call, the next process starts k3s", async () => {
  let cuts = 0;
  for (const moment of ["before", "after"] as const) {
    for (let call = 1;; call++) {
      const machine = await booted();
      const { isOver } = await cutAt(machine, call, moment);
      if (isOver) break;
      cuts += 1;
      assert.deepEqual(await noteBoot(await openAgent(machine.ports)), { done: true });
      assert.ok(isUp(machine), `cut ${moment} call ${call}`);
      assert.equal(JSON.parse(machine.disk.text(STATE_FILE) ?? "").boot_id, await idOf(machine));
    }
  }
  assert.ok(cuts > 15, String(cuts));
});

async function idOf({ host }: Machine): Promise<string | null> {
  return (await host.facts()).bootId;
}

Deno.test("noteBoot: a start that fails leaves the boot to be noted", async () => {
  const machine = await booted();
  machine.systemd.failNext("timeout");
  const context = await openAgent(machine.ports);
  const noted = await noteBoot(context);
  assert.match(noted.done ? "" : noted.why, /k3s\.service does not start: .*scripted failure/);
  assert.notEqual(context.store.state.boot_id, await idOf(machine));
  assert.deepEqual(await noteBoot(context), { done: true });
  assert.ok(isUp(machine));
});

Deno.test("noteBoot: neither a systemd that does not answer nor a disk that does not is a verdict", async () => {
  const machine = await booted();
  machine.systemd.units.set(K3S, { state: "unknown", enabled: false });
  const context = await openAgent(machine.ports);
  assert.equal((await noteBoot(context)).done, false);
  machine.systemd.units.set(K3S, { state: "inactive", enabled: false });
  machine.disk.failNext("io", { operation: "read", path: K3S_HOLD_FILE });
  assert.equal((await noteBoot(context)).done, false);
  assert.equal(starts(machine), 0);
  assert.deepEqual(await noteBoot(context), { done: true });
  assert.ok(isUp(machine));
});

Deno.test("noteBoot: k3s that was seen to run in this boot and is stopped stays stopped", async () => {
  const machine = await booted();
  machine.systemd.units.set(K3S, { state: "active", enabled: true });
  const context = await openAgent(machine.ports);
  assert.deepEqual(await noteBoot(context), { done: true });
  machine.systemd.units.set(K3S, { state: "inactive", enabled: true });
  assert.deepEqual(await noteBoot(context), { done: true });
  assert.deepEqual(await noteBoot(await openAgent(machine.ports)), { done: true });
  assert.equal(starts(machine), 0);
});

Deno.test("noteBoot: held k3s is not started, and is once nothing holds it any more", async () => {
  const machine = await booted();
  machine.disk.put(K3S_HOLD_FILE, "cluster.restore op holds k3s until its reset succeeded\n");
  const context = await openAgent(machine.ports);
  assert.equal((await noteBoot(context)).done, false);
  assert.equal(starts(machine), 0);
  await machine.disk.remove(K3S_HOLD_FILE);
  assert.deepEqual(await noteBoot(context), { done: true });
  assert.ok(isUp(machine));
});

/** A world whose machine was booted anew, without k3s and without the agent. */
async function rebootedWorld(): Promise<World> {
  const world = await createSettledWorld();
  world.kill("kept");
  world.systemd.units.set(K3S, { state: "inactive", enabled: false });
  return world;
}

Deno.test("serve: k3s that does not start after a boot is tried again until it does, and not after that", async () => {
  const world = await rebootedWorld();
  let failing = true;
  const before = starts(world);
  world.start((ports) => ({
    ...ports,
    systemd: {
      ...ports.systemd,
      start(unit: string) {
        if (failing) world.systemd.failNext("timeout");
        return ports.systemd.start(unit);
      },
    },
  }));
  await world.pass(180_000);
  const tries = starts(world) - before;
  assert.ok(tries >= 3 && tries <= 12, `${tries} tries in 3 minutes`);
  assert.ok(!isUp(world));
  failing = false;
  await world.pass(90_000);
  assert.ok(isUp(world));
  const all = starts(world);
  world.systemd.units.set(K3S, { state: "inactive", enabled: false });
  await world.pass(300_000);
  assert.equal(starts(world), all, "a person stopped it in this boot");
  await world.stop();
});
