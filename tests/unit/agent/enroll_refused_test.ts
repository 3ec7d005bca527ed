import assert from "node:assert/strict";
import { CONFIG_FILE, IDENTITY_FILE } from "../../../core/state/paths.ts";
import { configYaml, createWorld, type World } from "./world.ts";

const DAY_MS = 24 * 3_600_000;

function refuse(world: World, status: number, code: string, count: number | null = null): void {
  world.portal.fault({
    match: { path: "/enroll" },
    count,
    action: { status, body: { error: { code, message: "said so" } } },
  });
}

async function restart(world: World): Promise<void> {
  await world.stop();
  world.start();
}

Deno.test("enroll: a token that is refused with 401 is tried three times in all, over restarts", async () => {
  for (const code of ["invalid_token", "token_used", "token_expired", "server_mismatch"]) {
    const world = createWorld();
    refuse(world, 401, code);
    world.start();
    await world.pass(1_000);
    assert.equal(world.requests("/enroll"), 1);
    await restart(world);
    await world.pass(1_000);
    assert.equal(world.requests("/enroll"), 2);
    await world.pass(60_000);
    assert.equal(world.requests("/enroll"), 3);
    assert.equal((await world.status()).stage, "refused");
    await restart(world);
    await world.pass(DAY_MS);
    assert.equal(world.requests("/enroll"), 3, code);
    const status = await world.status();
    assert.equal(status.stage, "refused");
    assert.equal(status.trouble?.code, code);
    assert.match(status.trouble?.message ?? "", /new server with a new token/);
    await world.stop();
  }
});

Deno.test("enroll: a 401 with another code is as 400: the token is not counted", async () => {
  const world = createWorld();
  refuse(world, 401, "revoked");
  world.start();
  await world.pass(DAY_MS);
  assert.equal(world.requests("/enroll"), 3);
  assert.equal((await world.status()).trouble?.code, "revoked");
  assert.equal(world.stored().enrollment, null);
  await restart(world);
  await world.pass(1_000);
  assert.equal(world.requests("/enroll"), 4);
  await world.stop();
});

Deno.test("enroll: 401, 403 and 407 of a proxy are asked again for as long as it takes", async () => {
  for (const status of [401, 403, 407]) {
    const world = createWorld();
    world.portal.fault({
      match: { path: "/enroll" },
      count: 10,
      action: { status, text: "<html>", headers: { "content-type": "text/html" } },
    });
    world.start();
    await world.pass(20_000);
    assert.equal((await world.status()).trouble?.code, "not_the_portal");
    assert.equal(world.stored().enrollment, null);
    await world.pass(3_600_000);
    assert.equal(world.requests("/enroll"), 11);
    assert.equal((await world.status()).stage, "syncing");
    await world.stop();
  }
});

Deno.test("enroll: another token is counted anew", async () => {
  const world = createWorld();
  refuse(world, 401, "invalid_token", 3);
  world.start();
  await world.pass(60_000);
  assert.equal((await world.status()).stage, "refused");
  await world.stop();
  world.disk.put(CONFIG_FILE, configYaml(world.portal.token()));
  world.start();
  await world.pass(1_000);
  assert.equal(world.requests("/enroll"), 4);
  assert.equal((await world.status()).stage, "starting_k3s");
  await world.stop();
});

Deno.test("enroll: image_mismatch and 426 idle at once; a restart asks once more", async () => {
  for (const [status, code] of [[409, "image_mismatch"], [426, "protocol_too_old"]] as const) {
    const world = createWorld();
    refuse(world, status, code);
    world.start();
    await world.pass(DAY_MS);
    assert.equal(world.requests("/enroll"), 1, code);
    const told = await world.status();
    assert.equal(told.stage, "refused");
    assert.equal(told.trouble?.code, code);
    await restart(world);
    await world.pass(DAY_MS);
    assert.equal(world.requests("/enroll"), 2, code);
    await world.stop();
  }
});

Deno.test("enroll: a request that is refused as such is sent three times, then idle until a restart", async () => {
  for (const status of [400, 403, 404, 413, 301]) {
    const world = createWorld();
    refuse(world, status, "bad");
    world.start();
    await world.pass(DAY_MS);
    assert.equal(world.requests("/enroll"), 3, `${status}`);
    assert.equal((await world.status()).stage, "refused");
    await restart(world);
    await world.pass(DAY_MS);
    assert.equal(world.requests("/enroll"), 6, `${status}`);
    await world.stop();
  }
});

Deno.test("enroll: what may pass is asked again with backoff for as long as it takes", async () => {
  const faults = [
    { status: 409, body: { error: { code: "conflict", message: "m" } } },
    { status: 503, body: { error: { code: "internal", message: "m" } } },
    { status: 500, text: "<html>" },
    { cut: "before" },
    { cut: "after" },
    { malformed: true },
    { not_json: true },
    { oversize: true },
    { status: 429 },
    { merge: { agent_id: "../../etc" } },
    { merge: { release: null } },
  ];
  for (const action of faults) {
    const world = createWorld();
    world.portal.fault({ match: { path: "/enroll" }, count: 8, action });
    world.start();
    await world.pass(1_000);
    assert.equal(world.requests("/enroll"), 1);
    assert.notEqual((await world.status()).trouble, null);
    // 5, 10, 20 ... 300 s, each up to 1.2 times.
    await world.pass(1.2 * (5 + 10 + 20 + 40 + 80 + 160 + 300 + 300) * 1_000);
    assert.ok(world.requests("/enroll") === 9, JSON.stringify(action));
    assert.equal(world.portal.portal.state.agents.size, 1);
    assert.notEqual(world.stored(IDENTITY_FILE).binding, null, JSON.stringify(action));
    await world.stop();
  }
});

Deno.test("enroll: 429 is waited out as told, across a restart too", async () => {
  const world = createWorld();
  world.portal.fault({
    match: { path: "/enroll" },
    action: { status: 429, headers: { "Retry-After": "600" } },
  });
  world.start();
  await world.pass(300_000);
  await restart(world);
  await world.pass(299_000);
  assert.equal(world.requests("/enroll"), 1);
  await world.pass(2_000);
  assert.equal(world.requests("/enroll"), 2);
  assert.equal((await world.status()).stage, "starting_k3s");
  await world.stop();
});

Deno.test("enroll: without network the metadata service is asked again, and nothing else happens", async () => {
  const world = createWorld();
  world.metadata.answer({ code: "connect", message: "no route" });
  world.start();
  await world.pass(60_000);
  assert.equal(world.requests("/enroll"), 0);
  assert.equal((await world.status()).trouble?.code, "no_server_id");
  world.metadata.answer({ code: "malformed", message: "no number" });
  await world.pass(300_000);
  world.metadata.answer("4711001");
  await world.pass(360_000);
  assert.equal(world.requests("/enroll"), 1);
  assert.equal((await world.status()).trouble, null);
  await world.stop();
});

Deno.test("enroll: without a token there is nothing to ask with", async () => {
  const world = createWorld();
  world.disk.put(CONFIG_FILE, "portal: example.com\ncluster_id: demo\nnode_name: demo-1\n");
  world.start();
  await world.pass(DAY_MS);
  assert.equal(world.requests("/enroll"), 0);
  const status = await world.status();
  assert.equal(status.stage, "refused");
  assert.equal(status.trouble?.code, "no_token");
  await world.stop();
});
