/** Single documents that once broke an agent, or would break one that is written carelessly. */
import assert from "node:assert/strict";
import { statusText } from "../../cli/status_text.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import { PLAIN } from "./documents.ts";
import { SEED } from "./fuzz.ts";
import { footprintOf } from "./footprint.ts";
import { answered, assertHarmless, enrolled, MAX_BODY } from "./live.ts";
import { json, raw } from "./replies.ts";
import { createWorld, type World } from "./world.ts";

const DIRECTORY = "/var/lib/pbx-agent";

Deno.test("runAgent: an error's code is neither a name in the log nor large in the state", async () => {
  const world = await enrolled(SEED);
  const error = { code: `x\n${"y".repeat(100_000)}`, message: "m".repeat(100_000) };
  await answered(world, "sync", () => json(418, { error }));
  const state = world.disk.text(`${DIRECTORY}/state.json`) ?? "";
  assert.ok(state.length < 20_000, `state.json has ${state.length} characters`);
  assert.ok(world.log.records().every(({ event }) => /^[a-z0-9_]{1,64}$/.test(event)));
  await world.stop();
});

for (const time of ["9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59"]) {
  Deno.test(`runAgent: a clock_skew of ${time} leaves a state that the next start reads`, async () => {
    const world = await enrolled(SEED);
    await answered(world, "sync", () => json(409, { error: { code: "clock_skew", time } }));
    world.disk.put("/etc/pbx-agent/config.yaml", OTHER_CONFIG);
    await restart(world);
    await world.until(() => world.asked.length > 1, 400_000);
    await restart(world);
    assert.deepEqual(world.log.of("state_lost"), []);
    await world.stop();
  });
}

Deno.test("runAgent: a desired state of thousands of add-ons can be replaced by another", async () => {
  const world = await enrolled(SEED);
  const answer = world.documents().syncAnswer(7) as { desired: JsonObject };
  const addons = Array.from({ length: 4_500 }, (_, index) => (
    { name: `a${index}`, enabled: true, options: {} }
  ));
  const huge = { ...answer, desired: { ...answer.desired, addons } } as JsonValue;
  assert.ok(JSON.stringify(huge).length < MAX_BODY);
  await answered(world, "sync", () => json(200, huge));
  assert.equal(JSON.parse(footprintOf(world).desired).state.revision, 7);
  world.forget();
  await answered(world, "sync", () => json(200, world.documents().syncAnswer(8)));
  assert.equal(JSON.parse(footprintOf(world).desired).state.revision, 8);
  await world.stop();
});

Deno.test("runAgent: a node with endless names of itself still reports", async () => {
  const world = await enrolled(SEED);
  world.disk.put(
    "/etc/os-release",
    `PRETTY_NAME="${"\\u0001".repeat(1)}${"\u0001".repeat(60_000)}"\n`,
  );
  await answered(world, "sync", () => json(200, world.documents().syncAnswer(8)));
  assert.equal(JSON.parse(footprintOf(world).desired).state.revision, 8);
  await world.stop();
});

Deno.test("runAgent: signs no more than a few times for a portal that only says why not", async () => {
  const world = await enrolled(SEED);
  world.forget();
  const skew = { code: "clock_skew", time: "2026-01-01T00:00:00Z" };
  let asked = 0;
  world.answerWith(({ question }) =>
    question !== "sync"
      ? undefined
      : asked++ % 2 === 0
      ? json(409, { error: skew })
      : json(400, { error: { code: "replayed" } })
  );
  await world.until(() => asked > 0);
  await world.clock.settle();
  assert.ok(asked < 10, `${asked} requests at once`);
  await world.stop();
});

Deno.test("runAgent: offers of 550 operations leave the state small", async () => {
  const world = await enrolled(SEED);
  let offered = 0;
  world.answerWith(({ question }) =>
    question !== "sync" ? undefined : json(200, {
      time: new Date(world.clock.now()).toISOString(),
      desired: null,
      desired_tag: null,
      operation: { id: `op-${offered++}-${"x".repeat(50)}`, kind: "k".repeat(5_000), params: {} },
    })
  );
  await world.until(() => offered >= 550, 550 * 40_000);
  await assertHarmless(world);
  await world.stop();
});

Deno.test("runAgent: a state.json nested without end is kept aside", async () => {
  const state = await spoiledStart("state.json", (text) => nestedIn(text, '"conditions": '));
  assert.equal(state.log.of("state_lost").length, 1);
  assert.notEqual(state.disk.text(`${DIRECTORY}/state.json.unreadable`), null);
  await state.stop();
});

Deno.test("runAgent: a state.json larger than it can be is kept aside", async () => {
  const state = await spoiledStart("state.json", (text) => text + " ".repeat(17 * 1024 * 1024));
  assert.equal(state.log.of("state_lost").length, 1);
  await state.stop();
});

Deno.test("runAgent: an offset that no clock can have makes the state unreadable", async () => {
  const state = await spoiledStart(
    "state.json",
    (text) => text.replace(/"clock_offset_ms": 0/, '"clock_offset_ms": 9007199254740991'),
  );
  assert.equal(state.log.of("state_lost").length, 1);
  await state.stop();
});

Deno.test("runAgent: a bootstrap.json with a token in clear is unreadable", async () => {
  const world = createWorld(SEED);
  world.start();
  await world.until(() => world.disk.text(`${DIRECTORY}/bootstrap.json`) !== null);
  await world.stop();
  const bootstrap = JSON.parse(world.disk.text(`${DIRECTORY}/bootstrap.json`) ?? "");
  bootstrap.answer.k3s.config.token = "in clear";
  world.disk.put(`${DIRECTORY}/bootstrap.json`, JSON.stringify(bootstrap));
  world.disk.put(`${DIRECTORY}/state.json`, "");
  world.forget();
  world.start();
  assert.ok(await world.until(() => world.asked.length > 0));
  assert.equal(world.log.of("bootstrap_unreadable").length, 1);
  await world.stop();
});

Deno.test("runAgent: an identity.json with a portal that is no URL is unreadable, and stays", async () => {
  const spoil = (text: string) => text.replace(/"portal": "[^"]*"/, '"portal": "//"');
  const world = await spoiledStart("identity.json", spoil);
  assert.match(world.disk.text(`${DIRECTORY}/identity.json`) ?? "", /"portal": "\/\/"/);
  assert.equal((await world.status()).stage, "identity_unreadable");
  await world.stop();
});

Deno.test("runAgent: a state.json whose operation has a path for an ID is unreadable", async () => {
  const world = await spoiledStart("state.json", (text) => {
    const at = "2026-01-01T00:00:00Z";
    const operation = { id: "../../../etc/x", kind: "k", params: {}, begun_at: at, step: null };
    const rest = { steps: [], handed: {}, events: [], seq: 0 };
    return JSON.stringify({ ...JSON.parse(text), operation: { ...operation, ...rest } });
  });
  assert.equal(world.log.of("state_lost").length, 1);
  await assertHarmless(world);
  await world.stop();
});

Deno.test("runAgent: an operation called constructor is answered, and the next start knows it", async () => {
  const world = await enrolled(SEED);
  const operation = { id: "constructor", kind: "unknown", params: {} };
  await answered(
    world,
    "sync",
    () => json(200, { time: "2026-01-01T00:00:00Z", desired: null, desired_tag: null, operation }),
  );
  assert.ok(await world.until(() => world.asked.some(({ question }) => question === "events")));
  await restart(world);
  assert.deepEqual(world.log.of("state_lost"), []);
  assert.match(world.disk.text(`${DIRECTORY}/state.json`) ?? "", /"constructor": \{/);
  await world.stop();
});

Deno.test("decodeBase64: a text of 16 MiB is decoded or refused, not more", () => {
  assert.equal(decodeBase64("A".repeat(16 * 1024 * 1024))?.length, 12 * 1024 * 1024);
  assert.equal(decodeBase64(`${"A".repeat(16 * 1024 * 1024 - 4)}A===`), null);
});

Deno.test("runAgent: a body of brackets only costs a back-off", async () => {
  const world = await enrolled(SEED);
  for (const text of ["[".repeat(200_000), `${"[".repeat(100_000)}${"]".repeat(100_000)}`]) {
    await answered(world, "sync", () => raw(200, new TextEncoder().encode(text)));
  }
  await answered(world, "sync", () => json(200, world.documents().syncAnswer(8)));
  assert.equal(JSON.parse(footprintOf(world).desired).state.revision, 8);
  await world.stop();
});

Deno.test("enroll: a portal that quotes the token does not bring it into the log", async () => {
  const world = createWorld(SEED);
  const token = PLAIN["enrollment"] ?? "";
  const error = { code: "invalid_token", message: `there is no token ${token}` };
  world.answerWith(({ question }) => question === "enroll" ? json(401, { error }) : undefined);
  world.start();
  await world.until(() => world.asked.length > 2);
  await world.stop();
  assert.match(world.log.text(), /there is no token \[secret\]/);
  await assertHarmless(world);
});

Deno.test("statusText: what a portal says cannot steer a terminal or forge a line", async () => {
  const world = await enrolled(SEED);
  const error = { code: "no", message: "gone\u001b[2J\nagent      all is well" };
  await answered(world, "sync", () => json(418, { error }));
  const whole = { version: "1.4.0", running: true, pid: 1, k3s_unit: "active", slots: null };
  const text = statusText({ ...await world.status(), ...whole });
  assert.ok(!text.includes("\u001b") && !/^agent +all is well/m.test(text), text);
  await world.stop();
});

/** A configuration of another node, so that the restart raises a condition with the present time. */
const OTHER_CONFIG = `portal: https://portal.example.com/agent/v1
cluster_id: orchard
node_name: orchard-2
`;

async function restart(world: World): Promise<void> {
  await world.stop();
  world.forget();
  world.start();
  await world.until(() => world.asked.length > 0, 400_000);
}

/** An agent that was enrolled and stopped, and started again on one spoiled file. */
async function spoiledStart(file: string, spoil: (text: string) => string): Promise<World> {
  const world = await enrolled(SEED);
  await world.stop();
  const path = `${DIRECTORY}/${file}`;
  world.disk.put(path, spoil(world.disk.text(path) ?? ""));
  world.disk.put("/etc/pbx-agent/config.yaml", OTHER_CONFIG);
  world.forget();
  world.start();
  await world.until(() => world.asked.length > 0, 100_000);
  return world;
}

function nestedIn(text: string, before: string): string {
  const depth = 200_000;
  const nested = `"deep": ${"[".repeat(depth)}${"]".repeat(depth)},`;
  return text.replace(before, () => `${nested}${before}`);
}
