import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { BOOTSTRAP_FILE, CONFIG_FILE, IDENTITY_FILE } from "../../../core/state/paths.ts";
import { assertStarted } from "./started.ts";
import { configYaml, createWorld, type World } from "./world.ts";

/** A first start whose answers are changed so; the portal mends it after three. */
async function enrollWith(merge: JsonObject): Promise<World> {
  const world = createWorld();
  world.portal.fault({ match: { path: "/enroll" }, count: 3, action: { merge } });
  world.start();
  await world.pass(1_000);
  return world;
}

/** Killed as soon as the ID is stored: the token is still in the configuration. */
async function killedWhenBound(): Promise<World> {
  const world = createWorld();
  const process = world.start();
  process.killAfter(/rename .*identity\.json/, 2);
  while (!process.isDead()) await world.clock.advanceToNext();
  assert.notEqual(world.stored(IDENTITY_FILE).binding, null);
  assert.match(world.disk.text(CONFIG_FILE) ?? "", /enrollment_token/);
  return world;
}

/** Nothing of a refused answer is kept, and a good one later is taken. */
async function assertRefusedThenTaken(world: World, code: string, shown: RegExp): Promise<void> {
  const { trouble, stage } = await world.status();
  assert.equal(stage, "enrolling");
  assert.equal(trouble?.code, code);
  assert.match(trouble?.message ?? "", shown);
  assert.equal(world.stored(BOOTSTRAP_FILE), null);
  assert.equal(world.stored(IDENTITY_FILE).binding, null);
  assert.match(world.disk.text(CONFIG_FILE) ?? "", /enrollment_token/);
  assert.deepEqual(world.systemd.calls, []);
  await world.pass(90_000);
  await assertStarted(world);
  assert.equal(world.requests("/enroll"), 4);
  await world.stop();
}

Deno.test("enroll: a secret in clear anywhere in the answer: nothing is stored, asked again", async () => {
  const clear: [JsonObject, RegExp][] = [
    [{ k3s: { token: "hunter2hunter2" } }, /k3s\.token/],
    [{ k3s: { token: { sealed: 7 } } }, /k3s\.token/],
    [{ k3s: { agent_token: "hunter2hunter2" } }, /k3s\.agent_token/],
    [{ secrets: { hcloud: { token: "hunter2hunter2" } } }, /secrets\.hcloud\.token/],
    [{ secrets: { etcd_s3: { secret_key: ["hunter2hunter2"] } } }, /etcd_s3\.secret_key/],
    [{ k3s: { config: { "token": "hunter2hunter2" } } }, /k3s\.config\.token/],
    [{ k3s: { config: { "datastore-endpoint": "hunter2hunter2" } } }, /datastore-endpoint/],
    // The secret is told first, however odd the rest is.
    [{ agent_id: 7, k3s: { token: "hunter2hunter2" } }, /k3s\.token/],
  ];
  for (const [merge, where] of clear) {
    const world = await enrollWith(merge);
    await assertRefusedThenTaken(world, "unsealed_secret", where);
    assert.ok(!world.log.text().includes("hunter2"));
    assert.ok(!world.disk.paths().some((path) => world.disk.text(path)?.includes("hunter2")));
  }
});

Deno.test("enroll: a box that does not open: nothing is stored, asked again", async () => {
  for (const sealed of ["AAAA", "no base64!", btoa("k".repeat(80)), ""]) {
    const world = await enrollWith({ secrets: { hcloud: { token: { sealed } } } });
    await assertRefusedThenTaken(world, "undecryptable_secret", /secrets\.hcloud\.token/);
  }
});

Deno.test("enroll: an answer for another cluster or node is none", async () => {
  const table: [JsonObject, RegExp][] = [
    [{ cluster_id: "other" }, /cluster_id 'other', not 'demo'/],
    [{ node_name: "demo-2" }, /node_name 'demo-2', not 'demo-1'/],
    [{ agent_id: "a/../b" }, /agent_id/],
    [{ manifests: [{ name: "../x", content: "" }] }, /manifests/],
    [{ k3s: { unknown_field: 1 } }, /k3s/],
  ];
  for (const [merge, shown] of table) {
    await assertRefusedThenTaken(await enrollWith(merge), "malformed_answer", shown);
  }
});

Deno.test("enroll: the answer lost after the portal took the token: the same identity again", async () => {
  const world = createWorld();
  world.portal.fault({ match: { path: "/enroll" }, action: { cut: "after" } });
  world.start();
  await world.pass(60_000);
  await assertStarted(world);
  assert.deepEqual(world.portal.asked().slice(0, 2), ["POST /enroll null", "POST /enroll 200"]);
  await world.stop();
});

Deno.test("enroll: an answer lost with its file is asked for again while the token is there", async () => {
  const world = await killedWhenBound();
  world.disk.truncate(BOOTSTRAP_FILE);
  world.kill();
  world.start();
  await world.pass(60_000);
  await assertStarted(world);
  assert.equal(world.requests("/enroll"), 2);
  await world.stop();
});

Deno.test("enroll: the token of another node never binds an agent anew", async () => {
  const world = await killedWhenBound();
  const { binding } = world.stored(IDENTITY_FILE);
  world.disk.truncate(BOOTSTRAP_FILE);
  world.disk.put(CONFIG_FILE, configYaml("pbx_other").replace("demo-1", "demo-2"));
  world.kill();
  world.start();
  await world.pass(60_000);
  assert.equal(world.requests("/enroll"), 1);
  assert.deepEqual(world.stored(IDENTITY_FILE).binding, binding);
  assert.ok(world.conditions().includes("already_bound"));
  await world.stop();
});

Deno.test("enroll: an answer with another ID than the one that is known is none", async () => {
  const world = await killedWhenBound();
  world.disk.truncate(BOOTSTRAP_FILE);
  world.kill();
  world.portal.fault({
    match: { path: "/enroll" },
    action: { merge: { agent_id: "agent-other" } },
  });
  world.start();
  await world.pass(1_000);
  assert.match((await world.status()).trouble?.message ?? "", /agent-other/);
  await world.pass(60_000);
  await assertStarted(world);
  await world.stop();
});

Deno.test("enroll: an answer that the disk does not take is kept, though the token expires meanwhile", async () => {
  const world = createWorld();
  const refusal = { status: 401, body: { error: { code: "token_expired", message: "too late" } } };
  world.portal.fault({ match: { path: "/enroll" }, skip: 1, count: null, action: refusal });
  let isFull = true;
  world.disk.onCall((call, path) =>
    call === "write" && isFull && /identity|bootstrap/.test(path) && world.requests("/enroll") > 0
      ? "full"
      : null
  );
  world.start();
  await world.pass(600_000);
  isFull = false;
  await world.pass(330_000);
  assert.ok(world.requests("/sync") > 0, JSON.stringify((await world.status()).stage));
  assert.equal(world.requests("/enroll"), 1);
  await world.stop();
});
