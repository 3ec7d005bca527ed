import assert from "node:assert/strict";
import { pause } from "./wait.ts";
import { CYCLE_S, inWorld, type World } from "./world.ts";

const SNAPSHOTS = "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml";
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** A window that is open at any moment. */
const ALWAYS = { timezone: "UTC", windows: [{ days: DAYS, start: "00:00", minutes: 1440 }] };

/** A window that opens in three days. */
function later() {
  const day = DAYS[(new Date().getUTCDay() + 3) % 7];
  return { timezone: "UTC", windows: [{ days: [day], start: "12:00", minutes: 30 }] };
}

async function restarts(world: World): Promise<number> {
  const calls = await world.node.systemctlCalls();
  return calls.filter((call) => call.startsWith("restart k3s.service")).length;
}

/** Several cycles, in which nothing may happen. */
async function cycles(world: World): Promise<void> {
  const before = world.requests("/sync").length;
  await world.until("three more cycles", () => world.requests("/sync").length >= before + 3);
}

async function pendingIs(world: World, pending: boolean): Promise<void> {
  await world.until(`a report with a pending restart: ${pending}`, () => {
    return world.report()?.pending.k3s_restart === pending;
  });
}

Deno.test("run: a changed drop-in waits for its window, through a kill and a reboot, and restarts k3s once", async () => {
  await inWorld(async (world) => {
    await world.desire({ maintenance: later() });
    const first = await world.startSynced();
    await world.desire({ host: { snapshots: { retention: 7 } } });
    await pendingIs(world, true);
    assert.match(await world.read(SNAPSHOTS), /^etcd-snapshot-retention: 7$/m, "written at once");
    const report = world.report();
    assert.match(report?.pending.reason ?? "", /50-pbx-snapshots\.yaml/);
    assert.match(
      report?.conditions.find(({ code }) => code === "k3s_restart_pending")?.message ?? "",
      /next maintenance window opens/,
    );

    first.kill("SIGKILL");
    await first.ended();
    assert.equal(JSON.parse((await world.cli("status")).stdout).pending.k3s_restart, true);
    const second = await world.startSynced();
    await pendingIs(world, true);
    second.kill("SIGKILL");
    await second.ended();
    await world.node.reboot();
    const third = await world.startSynced();
    await cycles(world);
    assert.equal(world.report()?.pending.k3s_restart, true, "still pending after a reboot");
    assert.equal(await restarts(world), 0, "outside of its window");

    await world.desire({ maintenance: ALWAYS });
    await pendingIs(world, false);
    await cycles(world);
    assert.equal(await restarts(world), 1, "once, inside the window");
    assert.deepEqual(world.report()?.conditions, []);
    assert.equal(third.lines().filter(({ event }) => event === "k3s_restart").length, 1);
    await third.stop();
  }, { measured: true });
});

Deno.test("run: a drop-in that changes back before its window opens needs no restart", async () => {
  await inWorld(async (world) => {
    await world.desire({ maintenance: { timezone: "UTC", windows: [] } });
    const agent = await world.startSynced();
    await world.desire({ host: { ingress: "none" } });
    await pendingIs(world, true);
    const condition = world.report()?.conditions[0];
    assert.equal(condition?.code, "k3s_restart_pending");
    assert.match(condition?.message ?? "", /no maintenance windows/);
    await world.desire({ host: { ingress: "traefik" } });
    await pendingIs(world, false);
    await world.desire({ maintenance: ALWAYS });
    await cycles(world);
    assert.equal(await restarts(world), 0);
    assert.deepEqual(world.report()?.conditions, []);
    await agent.stop();
  });
});

Deno.test("run: killed at the moment of the restart, it does not restart k3s for ever", async () => {
  await inWorld(async (world) => {
    await world.desire({ maintenance: ALWAYS });
    const first = await world.startSynced();
    await world.desire({ host: { snapshots: { retention: 9 } } });
    await first.event("k3s_restart");
    first.kill("SIGKILL");
    await first.ended();
    const second = await world.startSynced();
    await pendingIs(world, false);
    await cycles(world);
    await pause(CYCLE_S * 1000);
    assert.ok(await restarts(world) >= 1);
    assert.ok(
      await restarts(world) <= 2,
      "once more at most: the first may not have been asked for",
    );
    await second.stop();
  });
});
