import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { CONFIG_FILE, IDENTITY_FILE } from "../../../core/state/paths.ts";
import { createWorld, type World } from "./world.ts";

/** A key of the owner; nothing in these tests is signed with it. */
const OWNER =
  "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ada@example.com";

/** Publishes a release like the first one, with what it says of its age. */
function publish(world: World, version: string, age: JsonObject): void {
  const { releases } = world.portal.portal.state;
  const first = releases.get("1.0.0");
  assert.ok(first !== undefined);
  const payload = { ...first.payload as JsonObject, version, ...age };
  releases.set(version, { ...first, payload });
}

/** An agent that runs release 1.7.0, of sequence 7. */
async function settled(more = ""): Promise<World> {
  const world = createWorld();
  publish(world, "1.0.0", { sequence: 7 });
  if (more !== "") world.disk.put(CONFIG_FILE, `${world.disk.text(CONFIG_FILE)}${more}`);
  world.start();
  await world.pass(120_000);
  return world;
}

const OWNED = `approval_keys: ["${OWNER}"]\n` +
  "s3_target: { endpoint: s3.example.com, bucket: pbx-snapshots, region: eu-central, folder: demo }\n";
const revision = (world: World): number => world.stored().desired.state.revision;
const memory = (world: World) => world.stored(IDENTITY_FILE).releases;

async function want(world: World, release: string): Promise<void> {
  world.portal.desire({ release });
  await world.pass(80_000);
}

Deno.test("old releases: without the owner's keys an older one is taken, and said as long as it is wanted", async () => {
  const world = await settled();
  assert.deepEqual(memory(world).newest, { sequence: 7, version: "1.0.0" });
  publish(world, "0.6.0", { sequence: 6 });
  await want(world, "0.6.0");
  assert.equal(world.stored().desired.state.release, "0.6.0");
  assert.deepEqual(world.conditions(), ["release_older"]);
  await world.pass(120_000);
  assert.deepEqual(world.conditions(), ["release_older"]);
  await want(world, "1.0.0");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("old releases: with the owner's keys an older one needs an approval", async () => {
  const world = await settled(OWNED);
  publish(world, "0.6.0", { sequence: 6 });
  await want(world, "0.6.0");
  assert.equal(revision(world), 1);
  assert.deepEqual(world.conditions(), ["approval_missing", "release_older"]);
  await want(world, "1.0.0");
  assert.deepEqual(world.conditions(), []);
  assert.equal(revision(world), 3);
  await world.stop();
});

Deno.test("old releases: the floor of any verified release holds for good, over a lost state too", async () => {
  const world = await settled();
  publish(world, "0.6.0", { sequence: 6 });
  publish(world, "1.9.0", { sequence: 9, minimum: { sequence: 8 } });
  await want(world, "1.9.0");
  assert.equal(memory(world).floor, 8);
  await world.stop();
  world.disk.put("/var/lib/pbx-agent/state.json", "");
  world.start();
  await world.pass(40_000);
  for (const old of ["0.6.0", "1.0.0"]) {
    const before = world.stored().desired;
    await want(world, old);
    assert.ok(world.conditions().includes("release_below_minimum"), old);
    assert.deepEqual(world.stored().desired, before);
  }
  await want(world, "1.9.0");
  assert.equal(world.conditions().includes("release_below_minimum"), false);
  await world.stop();
});

Deno.test("old releases: an expired one is not taken, by the latest clock there is; what runs stays", async () => {
  const world = await settled();
  const now = world.clock.now();
  publish(world, "1.8.0", { sequence: 8, expires_at: new Date(now + 3_600_000).toISOString() });
  publish(world, "1.8.1", { sequence: 9, expires_at: new Date(now - 1_000).toISOString() });
  await want(world, "1.8.1");
  assert.equal(revision(world), 1);
  assert.deepEqual(world.conditions(), ["release_expired"]);
  await want(world, "1.8.0");
  assert.deepEqual(world.conditions(), []);
  // It expires while it runs, and a later revision may still name it.
  await world.pass(3_600_000);
  world.portal.desire({ servers: 1 });
  await want(world, "1.8.0");
  assert.deepEqual(world.conditions(), []);
  // A portal whose clock is set back brings nothing to life again.
  world.portal.portal.state.clockOffsetMs = -30 * 86_400_000;
  await world.pass(200_000);
  await want(world, "1.8.1");
  assert.ok(world.conditions().includes("release_expired"));
  await world.stop();
});

Deno.test("old releases: a newer one that is taken back before it ran needs no approval", async () => {
  const world = await settled(OWNED);
  publish(world, "1.8.0", { sequence: 8, agent: { version: "9.9.9", artifacts: {} } });
  world.portal.desire({ release: "1.8.0", agent: { version: "9.9.9" } });
  await world.pass(80_000);
  assert.equal(world.stored().desired.state.release, "1.8.0");
  assert.deepEqual(memory(world).newest, { sequence: 7, version: "1.0.0" });
  world.portal.desire({ release: "1.0.0", agent: { version: "0.1.0" } });
  await world.pass(80_000);
  assert.equal(world.stored().desired.state.release, "1.0.0");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("old releases: an agent from before this was noted begins with the release that it runs", async () => {
  const world = await settled();
  await world.stop();
  const { releases: _gone, ...identity } = world.stored(IDENTITY_FILE);
  world.disk.put(IDENTITY_FILE, JSON.stringify(identity));
  publish(world, "0.6.0", { sequence: 6 });
  world.portal.desire({ release: "0.6.0" });
  world.start();
  await world.pass(80_000);
  assert.deepEqual(memory(world).newest, { sequence: 7, version: "1.0.0" });
  assert.deepEqual(world.conditions(), ["release_older"]);
  await world.stop();
});

Deno.test("old releases: a 426 gets none in that is below the floor or unapproved", async () => {
  for (const [more, code] of [["", "release_below_minimum"], [OWNED, "release_older"]] as const) {
    const world = await settled(more);
    if (more === "") publish(world, "1.0.0", { sequence: 7, minimum: { sequence: 7 } });
    publish(world, "0.6.0", { sequence: 6, agent: { version: "0.0.1", artifacts: {} } });
    if (more === "") {
      publish(world, "1.8.0", { sequence: 8, minimum: { sequence: 7 } });
      await want(world, "1.8.0");
    }
    world.disk.put(
      "/var/lib/pbx-agent/bin/pbx-agent",
      "pbx-agent 0.1.0\nrelease keys: none\n",
      0o755,
    );
    const body = { error: { code: "protocol_too_old", message: "m", release: "0.6.0" } };
    world.portal.fault({ match: { path: "/sync" }, count: 1, action: { status: 426, body } });
    await world.pass(80_000);
    const raised = world.log.records().map(({ event }) => event);
    assert.ok(raised.includes(code), `${code}: ${raised.slice(-20)}`);
    await world.stop();
  }
});
