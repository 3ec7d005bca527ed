import assert from "node:assert/strict";
import * as z from "zod";
import { NEW_PROGRAM_FILE, PROGRAM_FILE, UPDATE_FILE } from "../../../core/state/paths.ts";
import {
  AGENT,
  agentConditions,
  fire,
  live,
  offer,
  says,
  takenBack,
  TIMER,
  updating,
} from "./updating.ts";
import type { World } from "./world.ts";

const HOUR = 3_600_000;
/** What released versions can read of the agent's files. */
const FROZEN = new URL("../../../fixtures/state/", import.meta.url);

Deno.test("own update: a good version takes over, syncs and stays; nothing of the timer is left", async () => {
  const world = await updating();
  await live(world, 200_000);
  assert.equal(world.lastReport().agent.version, "0.2.0");
  assert.deepEqual(world.conditions(), []);
  assert.equal(world.disk.text(`${PROGRAM_FILE}.prev`), says("0.1.0"));
  assert.equal(world.disk.text(UPDATE_FILE), null);
  assert.deepEqual(world.systemd.units.get(TIMER), { state: "inactive", enabled: false });
  assert.deepEqual(await world.disk.list("/etc/systemd/system"), { ok: true, value: ["keep"] });
  assert.deepEqual(world.stored().update, { under_way: null, holds: {}, rolled_back: null });
  assert.deepEqual(await fire(world), { ok: true, value: "nothing" });
});

/** The changes that the update makes: those of the old program from the download on, or of the new one. */
async function changesOf(program: "old" | "new"): Promise<{ first: number; last: number }> {
  const world = await updating();
  await world.stop();
  const old = world.start();
  await world.pass(120_000);
  const first = old.changes.findIndex((change) => change.startsWith("artifacts.fetch")) + 1;
  if (program === "old") return { first, last: old.changes.length };
  const next = world.start();
  await world.pass(10_000);
  return { first: 1, last: next.changes.length };
}

/** An update in which one of the two programs is killed at a change, and what there is in the end. */
async function cut(
  program: "old" | "new",
  change: number,
  moment: "during" | "after",
  power: "lost" | "kept" | undefined,
): Promise<void> {
  const what = `${program} program: ${power ?? "kill"} ${moment} change ${change}`;
  const world = await updating();
  await world.stop();
  let process = world.start();
  if (program === "new") {
    await world.pass(120_000);
    process = world.start();
  }
  process.killAt(change, moment);
  for (let i = 0; i < 40 && !process.isDead() && world.ended() === null; i++) {
    await world.pass(5_000);
  }
  world.kill(power);
  const inPlace = world.disk.text(PROGRAM_FILE) ?? "";
  assert.ok([says("0.1.0"), says("0.2.0")].includes(inPlace), `${what}: no whole program`);
  if (program === "old" && inPlace === says("0.2.0")) {
    assert.equal(world.systemd.units.get(TIMER)?.enabled, true, `${what}: no timer`);
    assert.notEqual(world.disk.text(UPDATE_FILE), null, `${what}: nothing to roll back`);
  }
  for (let left = 400_000; left > 0 && !isOver(world); left -= 10_000) await live(world, 10_000);
  assert.equal(world.lastReport().agent.version, "0.2.0", what);
  assert.deepEqual(world.conditions(), [], what);
  assert.equal(world.systemd.units.get(TIMER)?.enabled, false, what);
  assert.equal(world.disk.text(UPDATE_FILE), null, what);
  assert.equal(world.disk.text(NEW_PROGRAM_FILE), null, what);
}

/** The new version has reported, and nothing of the update is left. */
function isOver(world: World): boolean {
  return world.ended() === null && world.lastReport().agent.version === "0.2.0" &&
    world.conditions().length === 0 && world.disk.text(UPDATE_FILE) === null &&
    world.systemd.units.get(TIMER)?.enabled === false;
}

for (const program of ["old", "new"] as const) {
  Deno.test(`own update: the ${program} program killed at every change, with and without the power, a right one runs and no timer is left`, async () => {
    const { first, last } = await changesOf(program);
    assert.ok(first > 0 && last - first > 5, `${first} to ${last}`);
    for (let change = first; change <= last; change++) {
      await cut(program, change, "during", "lost");
      await cut(program, change, "after", "lost");
      await cut(program, change, "after", "kept");
      await cut(program, change, "during", undefined);
    }
  });
}

Deno.test("own update: taken back, it is told although the start that finds it is cut short", async () => {
  for (const write of [1, 2]) {
    const world = await updating();
    for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
    assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
    const process = world.start();
    process.killAfter(/rename .*state\.json/, write);
    for (let i = 0; i < 100 && !process.isDead(); i++) await world.pass(1_000);
    assert.ok(process.isDead(), `the start writes less than ${write} times`);
    world.kill();
    world.start();
    await world.pass(70_000);
    assert.equal(world.lastReport().agent.rolled_back?.from, "0.2.0");
    assert.deepEqual(world.conditions(), ["rolled_back"], `cut after write ${write}`);
    await world.stop();
  }
});

Deno.test("own update: taken back, it is told at once and tried again after six hours", async () => {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  assert.deepEqual(world.ended(), { kind: "updated" });
  assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
  assert.equal(world.disk.text(PROGRAM_FILE), says("0.1.0"));
  assert.ok(world.systemd.calls.slice(-8).includes(`restart ${AGENT}`));
  const before = world.requests("/sync");
  world.start();
  await world.pass(1_000);
  assert.equal(world.requests("/sync"), before + 1);
  const { from, to, reason } = world.lastReport().agent.rolled_back ?? {};
  assert.deepEqual({ from, to }, { from: "0.2.0", to: "0.1.0" });
  assert.match(reason ?? "", /no successful sync/);
  assert.deepEqual(world.conditions(), ["rolled_back"]);
  const asked = world.artifacts.asked.length;
  await world.pass(5.9 * HOUR);
  assert.equal(world.artifacts.asked.length, asked);
  assert.deepEqual(world.conditions(), ["rolled_back"]);
  assert.equal((await world.status()).update.holds["0.2.0"]?.reason, "rollback");
  await world.pass(0.2 * HOUR);
  assert.equal(world.artifacts.asked.length, asked + 1);
  await live(world, 100_000);
  assert.equal(world.lastReport().agent.version, "0.2.0");
  assert.equal(world.lastReport().agent.rolled_back, undefined);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("own update: a rollback whose record found no room is seen all the same", async () => {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  world.disk.failNext("full", { operation: "write", path: `${UPDATE_FILE}.tmp` });
  assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
  world.start();
  await world.pass(1_000);
  assert.equal(world.lastReport().agent.rolled_back?.from, "0.2.0");
  assert.equal(world.disk.text(UPDATE_FILE), null);
  await world.stop();
});

Deno.test("own update: a bad version is held for six hours, across a restart; another one is not", async () => {
  const world = await updating(says("0.9.9"));
  await world.pass(90_000);
  assert.match(agentConditions(world), /^update_failed: .*version 0\.9\.9/);
  assert.equal(world.artifacts.asked.length, 1);
  await world.stop();
  world.start();
  await world.pass(5.9 * HOUR);
  assert.equal(world.artifacts.asked.length, 1);
  offer(world, "3.0.0", "0.3.0", says("0.3.0"));
  await live(world, 150_000);
  assert.equal(world.lastReport().agent.version, "0.3.0");
  assert.deepEqual(world.conditions(), []);
});

Deno.test("own update: a cut download is no failed check: it is tried again with backoff", async () => {
  const world = await updating();
  const url = "https://files.example.com/2.0.0";
  const bytes = new TextEncoder().encode(says("0.2.0"));
  world.artifacts.files.set(url, { cutAfter: 5, bytes });
  await world.pass(300_000);
  assert.match(agentConditions(world), /^update_failed: .*ended in the middle/);
  const tries = world.artifacts.asked.length;
  assert.ok(tries >= 3 && tries <= 6, `${tries}`);
  world.artifacts.files.set(url, bytes);
  await live(world, 400_000);
  assert.equal(world.lastReport().agent.version, "0.2.0");
});

Deno.test("own update: a download server that is busy is left alone for as long as it asks", async () => {
  const world = await updating();
  world.artifacts.files.set("https://files.example.com/2.0.0", { status: 429, retryAfterS: 1_800 });
  await world.pass(1_790_000);
  assert.equal(world.artifacts.asked.length, 1);
  await world.pass(80_000);
  assert.equal(world.artifacts.asked.length, 2);
  await world.stop();
});

Deno.test("own update: not while an operation runs", async () => {
  const world = await updating();
  world.portal.desire({ release: "1.0.0", agent: { version: "0.1.0" } });
  await world.stop();
  const held = Promise.withResolvers<never>();
  world.start((ports) => ({
    ...ports,
    systemd: { ...ports.systemd, journal: () => held.promise },
  }));
  const consent = { by: "someone", at: "2026-01-01T00:00:00Z" };
  world.portal.offer({ id: "op-1", kind: "diag.collect", params: { consent } });
  await world.pass(70_000);
  assert.equal(world.lastReport().operation?.id, "op-1");
  world.portal.desire({ release: "2.0.0", agent: { version: "0.2.0" } });
  await world.pass(90_000);
  assert.equal(world.lastReport().operation?.id, "op-1");
  assert.equal(world.ended(), null);
  assert.equal(world.disk.text(PROGRAM_FILE), says("0.1.0"));
  assert.deepEqual(world.artifacts.asked, []);
  await world.stop();
});

Deno.test("own update: systemd that does not take the timer stops it, and nothing is left behind", async () => {
  const world = await updating();
  world.systemd.units.delete(TIMER);
  await world.pass(120_000);
  assert.match(agentConditions(world), /^update_failed: .*cannot be installed/);
  assert.equal(world.disk.text(PROGRAM_FILE), says("0.1.0"));
  assert.equal(world.disk.text(UPDATE_FILE), null);
  assert.equal(world.disk.text(NEW_PROGRAM_FILE), null);
  await world.stop();
});

Deno.test("own update: while on trial, a 426 does not replace what is not proven", async () => {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  const error = { code: "protocol_too_old", message: "m", release: "2.0.0" };
  world.portal.fault({
    match: { path: "/sync" },
    count: null,
    action: { status: 426, body: { error } },
  });
  offer(world, "2.0.0", "0.3.0", says("0.3.0"));
  await live(world, 300_000);
  assert.equal(world.disk.text(PROGRAM_FILE), says("0.2.0"));
  assert.equal(world.disk.text(`${PROGRAM_FILE}.prev`), says("0.1.0"));
  assert.equal(world.systemd.units.get(TIMER)?.state, "active");
  assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
  assert.equal(world.disk.text(PROGRAM_FILE), says("0.1.0"));
});

Deno.test("own update: wanted again after another one, a version that was taken back is held and told of", async () => {
  const world = await takenBack();
  const asked = world.artifacts.asked.length;
  world.start();
  await world.pass(90_000);
  world.portal.desire({ release: "1.0.0", agent: { version: "0.1.0" } });
  await world.pass(90_000);
  assert.deepEqual(world.conditions(), []);
  world.portal.desire({ release: "2.0.0", agent: { version: "0.2.0" } });
  await world.pass(90_000);
  assert.match(agentConditions(world), /^update_failed: pbx-agent 0\.2\.0: taken back at 2026-/);
  assert.equal(world.artifacts.asked.length, asked);
  await world.stop();
});

Deno.test("own update: taken back on a full disk, it is held all the same, and that is written once there is room", async () => {
  const world = await takenBack();
  const asked = world.artifacts.asked.length;
  world.disk.onCall((operation, path) =>
    operation === "write" && path.startsWith("/var/lib/pbx-agent/") ? "full" : null
  );
  world.start();
  await world.pass(200_000);
  assert.equal(world.lastReport().agent.rolled_back?.from, "0.2.0");
  assert.match(agentConditions(world), /rolled_back: .*not tried before 2026-/);
  assert.notEqual(world.disk.text(UPDATE_FILE), null, "the only record of it");
  world.disk.onCall(null);
  await world.pass(200_000);
  assert.equal(world.artifacts.asked.length, asked, "it is fetched again");
  assert.equal(world.disk.text(UPDATE_FILE), null);
  assert.equal(world.stored().update.holds["0.2.0"].reason, "rollback");
  await world.stop();
});

for (const days of [1, -1]) {
  Deno.test(`own update: taken back while the clock is set ${days} day off, it is held for six hours of the portal's clock`, async () => {
    const world = await takenBack();
    const asked = world.artifacts.asked.length;
    const off = days * 24 * HOUR;
    world.clock.setWallClock(world.clock.now() + off);
    world.portal.portal.state.clockOffsetMs -= off;
    world.start();
    await world.pass(5.9 * HOUR);
    assert.equal(world.artifacts.asked.length, asked, "it is fetched too early");
    await world.stop();
    world.start();
    await world.pass(0.05 * HOUR);
    assert.equal(world.artifacts.asked.length, asked, "it is fetched too early after a restart");
    await world.pass(0.3 * HOUR);
    assert.equal(world.artifacts.asked.length, asked + 1, "it is not fetched in time");
    await world.stop();
  });
}

Deno.test("own update: a version that cannot read the state leaves it as it is to the one before", async () => {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  // As if the new version expected another form.
  const whole = world.disk.text("/var/lib/pbx-agent/state.json") ?? "";
  const other = whole.replace('"finished": {', '"finished_elsewhere": {');
  world.disk.put("/var/lib/pbx-agent/state.json", other);
  world.start();
  await world.pass(1_000);
  assert.equal(world.ended()?.kind, "unusable");
  assert.equal(world.disk.text("/var/lib/pbx-agent/state.json"), other);
  world.disk.put("/var/lib/pbx-agent/state.json", whole);
  assert.deepEqual(await fire(world), { ok: true, value: "rolled_back" });
  world.start();
  await world.pass(60_000);
  assert.equal(world.lastReport().agent.rolled_back?.from, "0.2.0");
  assert.deepEqual(world.conditions(), ["rolled_back"]);
  assert.equal(world.lastReport().desired.revision, 2);
  await world.stop();
});

Deno.test("own update: what a version on trial writes is read by the frozen ones", async () => {
  const world = await updating();
  for (let i = 0; i < 40 && world.ended() === null; i++) await world.pass(5_000);
  world.portal.fault({ match: { path: "/sync" }, count: null, action: { status: 503 } });
  world.start();
  await world.pass(300_000);
  for await (const { name: version } of Deno.readDir(FROZEN)) {
    const readable = JSON.parse(
      await Deno.readTextFile(new URL(`${version}/readable.json`, FROZEN)),
    );
    for (const [name, schema] of Object.entries<z.core.JSONSchema.JSONSchema>(readable)) {
      const document = world.stored(`/var/lib/pbx-agent/${name}`);
      assert.notEqual(document, null, name);
      const read = z.fromJSONSchema(schema).safeParse(document);
      assert.ok(read.success, `${version} cannot read ${name}: ${read.error?.message}`);
    }
  }
  await world.stop();
});
