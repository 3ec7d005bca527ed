import assert from "node:assert/strict";
import { createFakeClock } from "../../../adapters/fake/clock.ts";
import { createFakeDisk } from "../../../adapters/fake/disk.ts";
import { createFakeLog } from "../../../adapters/fake/log.ts";
import { createFakePrograms } from "../../../adapters/fake/programs.ts";
import { createFakeSystemd } from "../../../adapters/fake/systemd.ts";
import { Cut } from "../../../adapters/fake/cut.ts";
import {
  parentOf,
  PREVIOUS_PROGRAM_FILE,
  PROGRAM_FILE,
  UPDATE_FILE,
} from "../../../core/state/paths.ts";
import { rollBack } from "../../../core/update/rollback.ts";
import { forget, readStanding } from "../../../core/update/standing.ts";
import { armTimer } from "../../../core/update/timer.ts";
import { writeTrial } from "../../../core/update/trial.ts";

const TIMER = "pbx-agent-rollback.timer";
const AGENT = "pbx-agent.service";

/** A machine whose new program has been put in place. */
async function onTrial() {
  const clock = createFakeClock({ now: Date.parse("2026-01-01T12:00:00Z") });
  const disk = createFakeDisk();
  disk.put(PROGRAM_FILE, "new", 0o755);
  disk.put(PREVIOUS_PROGRAM_FILE, "old", 0o755);
  disk.put("/etc/systemd/system/keep", "");
  const systemd = createFakeSystemd({
    units: { [TIMER]: {}, [AGENT]: { state: "activating", enabled: true } },
  });
  const ports = {
    clock,
    disk,
    systemd,
    programs: createFakePrograms(disk),
    log: createFakeLog({ now: clock.now }),
  };
  const trial = {
    from: "1.0.0",
    to: "2.0.0",
    armed_at: "2026-01-01T11:50:00Z",
    deadline: "2026-01-01T12:00:00Z",
  };
  assert.ok((await writeTrial(disk, trial)).ok);
  assert.ok((await armTimer(ports, 600_000)).ok);
  return ports;
}

Deno.test("rollBack: stops the agent, puts the previous program back, starts it, and takes the timer away", async () => {
  const ports = await onTrial();
  assert.deepEqual(await rollBack(ports), { ok: true, value: "rolled_back" });
  assert.equal(ports.disk.text(PROGRAM_FILE), "old");
  assert.equal(ports.disk.text(PREVIOUS_PROGRAM_FILE), "old");
  const mine = ports.systemd.calls.filter((call) => call.endsWith(AGENT));
  assert.deepEqual(mine, [`stop ${AGENT}`, `restart ${AGENT}`]);
  assert.deepEqual(ports.systemd.units.get(TIMER), { state: "inactive", enabled: false });
  assert.deepEqual(await readStanding(ports, "1.0.0"), {
    kind: "rolled_back",
    how: {
      from: "2.0.0",
      to: "1.0.0",
      at: "2026-01-01T12:00:00.000Z",
      reason: "no successful sync in time; pbx-agent.service was activating",
    },
  });
});

Deno.test("armTimer: a timer whose link a power cut could take back is not armed", async () => {
  const ports = await onTrial();
  const links = "/etc/systemd/system/timers.target.wants";
  ports.disk.put(`${links}/${TIMER}`, "");
  ports.disk.failNext("io", { operation: "syncDirectory", path: links });
  assert.equal((await armTimer(ports, 600_000)).ok, false);
  assert.ok((await armTimer(ports, 600_000)).ok);
});

Deno.test("rollBack: a second time it only starts what is there", async () => {
  const ports = await onTrial();
  await rollBack(ports);
  ports.disk.put(PREVIOUS_PROGRAM_FILE, "another", 0o755);
  const before = ports.systemd.calls.length;
  assert.deepEqual(await rollBack(ports), { ok: true, value: "rolled_back" });
  assert.equal(ports.disk.text(PROGRAM_FILE), "old");
  const calls = ports.systemd.calls.slice(before).filter((call) => call.endsWith(AGENT));
  assert.deepEqual(calls, [`start ${AGENT}`]);
});

Deno.test("forget: an update stays open until the program in place would survive a power cut", async () => {
  const ports = await onTrial();
  // The link's own sync fails: the program is back, and a power cut would take that back.
  ports.disk.failNext("io", { operation: "syncDirectory", path: parentOf(PROGRAM_FILE) });
  assert.equal((await rollBack(ports)).ok, false);
  assert.equal(ports.disk.text(PROGRAM_FILE), "old");

  ports.disk.failNext("io", { operation: "syncDirectory", path: parentOf(PROGRAM_FILE) });
  assert.match(await forget(ports) ?? "", /syncDirectory/);
  assert.notEqual(ports.disk.text(UPDATE_FILE), null);
  assert.equal(ports.systemd.units.get(TIMER)?.enabled, true);

  assert.equal(await forget(ports), null);
  ports.disk.crash("lost");
  assert.equal(ports.disk.text(PROGRAM_FILE), "old");
  assert.equal(ports.disk.text(UPDATE_FILE), null);
});

Deno.test("rollBack: changes nothing where no update is open", async () => {
  const ports = await onTrial();
  assert.equal(await forget(ports), null);
  assert.deepEqual(await rollBack(ports), { ok: true, value: "nothing" });
  assert.equal(ports.disk.text(PROGRAM_FILE), "new");
  assert.deepEqual(ports.systemd.calls.filter((call) => call.endsWith(AGENT)), []);
});

Deno.test("rollBack: one whose sync came while it was being stopped stays, and is started again", async () => {
  const ports = await onTrial();
  const { systemd } = ports;
  const stop = async (unit: string) => {
    if (unit === AGENT) assert.equal(await forget(ports), null);
    return await systemd.stop(unit);
  };
  const done = await rollBack({ ...ports, systemd: { ...systemd, stop } });
  assert.deepEqual(done, { ok: true, value: "nothing" });
  assert.equal(ports.disk.text(PROGRAM_FILE), "new");
  assert.equal(systemd.units.get(AGENT)?.state, "active");
});

Deno.test("rollBack: an unreadable update.json is an open update all the same", async () => {
  const ports = await onTrial();
  ports.disk.put(UPDATE_FILE, "{ garbage");
  assert.deepEqual(await rollBack(ports), { ok: true, value: "rolled_back" });
  assert.equal(ports.disk.text(PROGRAM_FILE), "old");
});

Deno.test("rollBack: without the previous program it fails, and what is there runs on", async () => {
  const ports = await onTrial();
  await ports.disk.remove(PREVIOUS_PROGRAM_FILE);
  assert.equal((await rollBack(ports)).ok, false);
  assert.equal(ports.disk.text(PROGRAM_FILE), "new");
  assert.equal(ports.systemd.units.get(AGENT)?.state, "active");
});

Deno.test("rollBack: a start that systemd takes and does not carry out is ordered again until the agent runs", async () => {
  const ports = await onTrial();
  const { systemd, clock } = ports;
  let starts = 0;
  const restart = async (unit: string) => {
    const done = await systemd.restart(unit);
    // As after "start request repeated too quickly", which holds for ten seconds.
    if (++starts < 3) systemd.units.set(unit, { state: "failed", enabled: true });
    return done;
  };
  const end = rollBack({ ...ports, systemd: { ...systemd, restart } });
  await clock.advance(60_000);
  assert.deepEqual(await end, { ok: true, value: "rolled_back" });
  assert.equal(starts, 3);
  assert.equal(systemd.units.get(AGENT)?.state, "active");
});

Deno.test("rollBack: while the agent cannot be started it has failed, and its timer stays", async () => {
  const ports = await onTrial();
  const { systemd, clock } = ports;
  const down = (unit: string) => systemd.stop(unit);
  const end = rollBack({ ...ports, systemd: { ...systemd, restart: down, start: down } });
  await clock.advance(300_000);
  assert.deepEqual(await end, {
    ok: false,
    error: "pbx-agent.service was started and is inactive",
  });
  assert.equal(ports.systemd.units.get(TIMER)?.enabled, true);
  // The service is tried again, as its unit says, and only starts what is in place.
  assert.deepEqual(await rollBack(ports), { ok: true, value: "rolled_back" });
  assert.equal(systemd.units.get(AGENT)?.state, "active");
});

Deno.test("rollBack: cut at every call of the disk and repeated, the previous program is back and the portal will hear of it", async () => {
  const whole = await onTrial();
  const before = whole.disk.calls();
  await rollBack(whole);
  const calls = whole.disk.calls() - before;
  assert.ok(calls > 10, `${calls}`);
  for (const names of ["lost", "kept"] as const) {
    for (let call = 1; call <= calls; call++) {
      const what = `call ${call}, names ${names}`;
      const ports = await onTrial();
      ports.disk.cutAt(call, "during");
      await rollBack(ports).catch((cause) => assert.ok(cause instanceof Cut, String(cause)));
      ports.disk.crash(names);
      const left = ports.disk.text(PROGRAM_FILE) ?? "";
      assert.ok(left === "new" || left === "old", `${what}: ${left}`);
      const timer = ports.systemd.units.get(TIMER)?.enabled === true;
      assert.ok(timer || left === "old", `${what}: the new program without a timer`);
      await rollBack(ports);
      assert.equal(ports.disk.text(PROGRAM_FILE), "old", what);
      assert.equal((await readStanding(ports, "1.0.0")).kind, "rolled_back", what);
    }
  }
});
