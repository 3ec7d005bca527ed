import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { createSettledWorld, createWorld, START, type World } from "./world.ts";

const FOLDER = "/etc/rancher/k3s/config.yaml.d";
const SNAPSHOTS = `${FOLDER}/50-pbx-snapshots.yaml`;
const INGRESS = `${FOLDER}/50-pbx-ingress.yaml`;

/** A window every day from `start` UTC on, `minutes` long. */
function window(start: string, minutes: number): JsonObject {
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  return { maintenance: { timezone: "UTC", windows: [{ days, start, minutes }] } };
}

const RETENTION = (retention: number) => ({ host: { snapshots: { retention } } });

function restarts({ systemd }: World): number {
  return systemd.calls.filter((call) => call === "restart k3s.service").length;
}

async function passUntil(world: World, iso: string): Promise<void> {
  await world.pass(Date.parse(iso) - world.clock.now());
}

async function pendingWorld(maintenance: JsonObject): Promise<World> {
  const world = await createSettledWorld();
  world.portal.desire({ ...maintenance, ...RETENTION(7) });
  await world.pass(70_000);
  return world;
}

Deno.test("host: the drop-ins of a first start are read by k3s as it starts, so no restart is pending", async () => {
  const world = await createSettledWorld();
  assert.match(world.disk.text(SNAPSHOTS) ?? "", /^etcd-snapshot-retention: 28$/m);
  assert.match(world.disk.text(INGRESS) ?? "", /^\{\}$/m);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.deepEqual(world.systemd.calls, ["enable k3s.service", "start k3s.service"]);
  await world.stop();
});

Deno.test("host: a change is written at once and waits for a window, told by report and condition", async () => {
  const world = await pendingWorld(window("12:10", 5));
  assert.match(world.disk.text(SNAPSHOTS) ?? "", /^etcd-snapshot-retention: 7$/m);
  const { pending, conditions } = world.lastReport();
  assert.deepEqual(pending, {
    k3s_restart: true,
    reason: "k3s runs without the change of 50-pbx-snapshots.yaml",
  });
  assert.deepEqual(conditions.map(({ code }) => code), ["k3s_restart_pending"]);
  assert.match(conditions[0]?.message ?? "", /2026-01-01 12:10 \(UTC\)/);
  assert.equal(restarts(world), 0);
  await world.stop();
});

Deno.test("host: k3s is restarted exactly once, inside the window and never outside", async () => {
  const world = await pendingWorld(window("12:10", 5));
  await passUntil(world, "2026-01-01T12:09:55Z");
  assert.equal(restarts(world), 0);
  await passUntil(world, "2026-01-01T12:10:40Z");
  assert.equal(restarts(world), 1);
  await passUntil(world, "2026-01-01T12:16:00Z");
  assert.equal(restarts(world), 1);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.deepEqual(world.conditions(), []);
  // A change after the window waits for the next day's.
  world.portal.desire(RETENTION(8));
  await passUntil(world, "2026-01-01T12:25:00Z");
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("host: inside a window a change is restarted for in the same cycle", async () => {
  const world = await pendingWorld(window("11:00", 180));
  assert.equal(restarts(world), 1);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  await world.stop();
});

Deno.test("host: without windows k3s is never restarted", async () => {
  const world = await pendingWorld({ maintenance: { timezone: "UTC", windows: [] } });
  for (let hour = 0; hour < 26; hour++) {
    await world.stop();
    await world.clock.advance(3_600_000);
    world.start();
    await world.pass(36_000);
  }
  assert.equal(restarts(world), 0);
  assert.match(world.lastReport().conditions[0]?.message ?? "", /no maintenance windows/);
  await world.stop();
});

Deno.test("host: a change that is taken back before the restart cancels it", async () => {
  const world = await pendingWorld(window("12:10", 5));
  world.portal.desire(RETENTION(28));
  await world.pass(70_000);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.deepEqual(world.conditions(), []);
  await passUntil(world, "2026-01-01T12:16:00Z");
  assert.equal(restarts(world), 0);
  await world.stop();
});

Deno.test("host: a pending restart survives a restart of the agent, a kill and a reboot", async () => {
  for (const end of ["stop", "kill", "reboot"] as const) {
    const world = await pendingWorld(window("12:10", 5));
    if (end === "stop") await world.stop();
    else world.kill(end === "reboot" ? "lost" : undefined);
    world.start();
    await world.pass(70_000);
    assert.equal(world.lastReport().pending.k3s_restart, true, end);
    assert.deepEqual(world.conditions(), ["k3s_restart_pending"], end);
    await passUntil(world, "2026-01-01T12:10:40Z");
    assert.equal(restarts(world), 1, end);
    await world.stop();
  }
});

Deno.test("host: a k3s that somebody else started anew has nothing pending any more", async () => {
  const world = await createSettledWorld();
  const run = (...pids: number[]) =>
    world.machine.run(
      pids.map((pid) => ({ pid, commandLine: "/usr/local/bin/k3s server" })),
    );
  run(10);
  world.portal.desire({ maintenance: { timezone: "UTC", windows: [] }, ...RETENTION(7) });
  await world.pass(70_000);
  // A change that comes with the restart may have been written after k3s read the others.
  world.portal.desire(RETENTION(8));
  run(11);
  await world.pass(36_000);
  assert.equal(world.lastReport().pending.k3s_restart, true);
  run();
  await world.pass(70_000);
  assert.equal(world.lastReport().pending.k3s_restart, true);
  run(12);
  await world.pass(70_000);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.deepEqual(world.conditions(), []);
  assert.equal(restarts(world), 0);
  await world.stop();
});

Deno.test("host: windows go by the portal's time where this node's clock is off", async () => {
  const world = await createSettledWorld();
  world.portal.portal.state.clockOffsetMs = 2 * 3_600_000;
  world.portal.desire({ ...window("14:00", 30), ...RETENTION(7) });
  await world.pass(36_000);
  assert.equal(restarts(world), 0, "the first answer that says so may be wrong");
  await world.pass(100_000);
  assert.equal(world.clock.now() < START + 4 * 60_000, true);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("host: a restart that systemd refuses is tried again, and said", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ ...window("11:00", 180), ...RETENTION(7) });
  world.systemd.failNext("failed");
  await world.pass(34_000);
  assert.equal((await world.status()).pending.k3s_restart, true);
  assert.match((await world.status()).conditions[0]?.message ?? "", /could not be restarted/);
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), []);
  assert.equal(restarts(world), 2);
  await world.stop();
});

Deno.test("host: a drop-in that was changed or removed by hand is put back", async () => {
  const world = await createSettledWorld();
  const wanted = world.disk.text(SNAPSHOTS);
  world.disk.put(SNAPSHOTS, "etcd-snapshot-retention: 1\n", 0o644);
  await world.pass(36_000);
  assert.equal(world.disk.text(SNAPSHOTS), wanted);
  await world.disk.remove(SNAPSHOTS);
  await world.pass(36_000);
  assert.equal(world.disk.text(SNAPSHOTS), wanted);
  const stat = await world.disk.stat(SNAPSHOTS);
  assert.equal(stat.ok && stat.value?.mode, 0o600);
  await world.stop();
});

Deno.test("host: ingress none adds to what is disabled", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ host: { ingress: "none" } });
  await world.pass(36_000);
  assert.match(world.disk.text(INGRESS) ?? "", /^disable\+:\n {2}- traefik$/m);
  await world.stop();
});

Deno.test("host: no pending restart starts a k3s that a restore holds or somebody stopped", async () => {
  const HOLD = "/var/lib/pbx-agent/hold-k3s";
  const world = await pendingWorld(window("12:05", 60));
  const k3s = world.systemd.units.get("k3s.service");
  assert.ok(k3s !== undefined);
  world.disk.put(HOLD, "");
  await passUntil(world, "2026-01-01T12:07:00Z");
  const told = () => world.lastReport().conditions.map(({ message }) => message).join();
  assert.match(told(), /k3s is held/);
  await world.disk.remove(HOLD);
  k3s.state = "inactive";
  await passUntil(world, "2026-01-01T12:09:00Z");
  assert.match(told(), /k3s\.service is stopped/);
  assert.equal(restarts(world), 0);
  assert.equal(world.lastReport().pending.k3s_restart, true);

  k3s.state = "active";
  await passUntil(world, "2026-01-01T12:11:00Z");
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("host: an operation that comes with a restart neither begins in it nor is refused for it", async () => {
  const world = await pendingWorld(window("20:00", 60));
  const k3s = world.systemd.units.get("k3s.service");
  assert.ok(k3s !== undefined);
  let upAt = Number.POSITIVE_INFINITY;
  Object.defineProperty(k3s, "state", {
    get: () => "active",
    set() {
      world.k8s.breakWith({ kind: "down" });
      upAt = world.clock.now() + 50_000;
      void world.clock.sleep(50_000).then(() => world.k8s.breakWith(null));
    },
  });
  // One answer brings both.
  world.portal.desire({ ...window("12:00", 600), ...RETENTION(7) });
  const params = { everyone: true };
  const offered = world.portal.offer({ id: "op-1", kind: "access.revoke", params });
  await world.pass(120_000);
  assert.equal(restarts(world), 1);
  assert.equal(offered.result?.state, "succeeded", JSON.stringify(offered.result));
  const [first] = offered.events;
  assert.ok(Date.parse(first?.at ?? "") >= upAt, `${first?.at}`);
  await world.stop();
});

Deno.test("host: inside a window no restart comes under an operation; it follows once that has ended", async () => {
  const world = await createSettledWorld();
  // The registration of new keys waits for minutes.
  const action = { status: 429, headers: { "retry-after": "240" } };
  world.portal.fault({ match: { path: "/rotate-key" }, action });
  const operation = world.portal.offer({ id: "op-1", kind: "agent.rotate_key", params: {} });
  await world.pass(60_000);
  assert.equal(world.lastReport().operation?.id, "op-1");
  world.portal.desire({ ...window("12:00", 600), ...RETENTION(7) });
  await world.pass(90_000);
  assert.match(world.disk.text(SNAPSHOTS) ?? "", /^etcd-snapshot-retention: 7$/m);
  assert.equal(restarts(world), 0);
  const [pending] = world.lastReport().conditions;
  assert.equal(pending?.code, "k3s_restart_pending");
  assert.match(pending?.message ?? "", /operation op-1 is running/);
  await world.pass(300_000);
  assert.equal(operation.result?.state, "succeeded");
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("host: after a boot that did not start k3s the agent does, within a boot it does not", async () => {
  const world = await createSettledWorld();
  const starts = () => world.systemd.calls.filter((call) => call === "start k3s.service").length;
  const k3s = world.systemd.units.get("k3s.service");
  assert.ok(k3s !== undefined);
  k3s.state = "inactive";
  await world.stop();
  world.start();
  await world.pass(70_000);
  assert.equal(starts(), 1);

  k3s.enabled = false;
  world.kill("lost");
  world.start();
  await world.pass(70_000);
  assert.equal(starts(), 2);

  // A restore holds it: nothing starts it before.
  k3s.state = "inactive";
  world.disk.put("/var/lib/pbx-agent/hold-k3s", "");
  world.kill("lost");
  world.start();
  await world.pass(70_000);
  assert.equal(starts(), 2);
  await world.stop();
});

Deno.test("host: a node whose unit does not start says so, and starts once it can", async () => {
  const world = createWorld();
  world.systemd.units.delete("k3s.service");
  world.start();
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["api_down"]);
  assert.equal(world.lastReport().node.k3s.unit, "unknown");
  world.systemd.units.set("k3s.service", { state: "inactive", enabled: false });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), []);
  assert.equal((await world.status()).first_start, "done");
  await world.stop();
});
