import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { type Answered, enrollBody, type Keys, keysOf, open } from "./client.ts";
import { assertRefused, inWorld, type World } from "./world.ts";

const OPERATIONS = "/admin/clusters/demo/operations";
type Agent = { id: string; keys: Keys };

/** An agent that was offered operation op-1. */
async function offered(world: World): Promise<Agent> {
  const agent = await world.enroll();
  const answer = await world.admin("POST", OPERATIONS, { id: "op-1", kind: "snapshot.save" });
  assert.equal(answer.status, 200);
  assert.equal((await world.sync(agent)).body.operation.id, "op-1");
  return agent;
}

function event(seq: number, changes: JsonObject = {}): JsonObject {
  return { seq, at: "2026-03-01T12:00:00Z", step: "save", state: "progress", ...changes };
}

function report(world: World, agent: Agent, events: JsonValue, result?: JsonObject, id = "op-1") {
  const body = result === undefined ? { events } : { events, result };
  return world.client.send({ path: `/operations/${id}/events`, body, agent });
}

function assertAcked(answer: Answered, acked: number): void {
  assert.deepEqual([answer.status, answer.body], [200, { acked }]);
}

Deno.test("sync: offers one operation at a time until its result is there", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    const params = { access_key: { plain: "sealed-on-the-way" } };
    await world.admin("POST", OPERATIONS, { id: "op-2", kind: "s3.verify", params });
    assert.equal((await world.sync(agent)).body.operation.id, "op-1");
    assertAcked(await report(world, agent, [event(1)]), 1);
    assert.equal((await world.sync(agent)).body.operation.id, "op-1");
    assertAcked(await report(world, agent, [event(2)], { state: "succeeded" }), 2);
    const { operation } = (await world.sync(agent)).body;
    assert.deepEqual([operation.id, operation.kind], ["op-2", "s3.verify"]);
    assert.equal(open(agent.keys, operation.params.access_key), "sealed-on-the-way");
    assertAcked(await report(world, agent, [], { state: "unsupported" }, "op-2"), 0);
    assert.equal((await world.sync(agent)).body.operation, null);
  }));

Deno.test("events: takes repeats silently, and more behind them", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    assertAcked(await report(world, agent, [event(1), event(2)]), 2);
    assertAcked(await report(world, agent, [event(1)]), 2);
    assertAcked(await report(world, agent, [event(2), event(3)]), 3);
    // The same content with its keys in another order is the same.
    const reordered = Object.fromEntries(Object.entries(event(3)).reverse());
    assertAcked(await report(world, agent, [reordered]), 3);
    const { body } = await world.admin("GET", `${OPERATIONS}/op-1`);
    assert.deepEqual(body.events, [event(1), event(2), event(3)]);
  }));

/** Each: what is wrong, the events, the result, words of the refusal. After events 1 and 2. */
const REFUSALS: readonly [string, JsonValue, JsonObject | undefined, string][] = [
  ["other content for a number", [event(2, { message: "changed" })], undefined, "another content"],
  ["a gap before", [event(4)], undefined, "3 is still missing"],
  ["a gap inside", [event(3), event(5)], undefined, "5 follows on 3"],
  ["numbers that fall", [event(2), event(1)], undefined, "1 follows on 2"],
  ["a number twice", [event(3), event(3)], undefined, "3 follows on 3"],
  ["number 0", [event(0)], undefined, "seq"],
  ["a number with a fraction", [event(2.5)], undefined, "seq"],
  ["nothing at all", [], undefined, "empty"],
  ["events that are no list", { 0: event(3) }, undefined, "events"],
  ["an unknown state", [event(3, { state: "refused" })], undefined, "state"],
  [
    "an unknown unit",
    [event(3, { progress: { done: 1, total: null, unit: "km" } })],
    undefined,
    "",
  ],
  ["a time without a zone", [event(3, { at: "2026-03-01T12:00:00" })], undefined, "at"],
  ["201 lines of log", [], { state: "failed", log_tail: Array(201).fill("") }, "log_tail"],
  ["an unknown result", [], { state: "done" }, "result.state"],
  ["a result's code that is no snake_case", [], { state: "failed", code: "Bad-Code" }, "code"],
  ["a refusal with events", [event(3)], { state: "refused", code: "expired" }, "no events"],
];

for (const [what, events, result, words] of REFUSALS) {
  Deno.test(`events: refuses ${what}`, () =>
    inWorld(async (world) => {
      const agent = await offered(world);
      assertAcked(await report(world, agent, [event(1), event(2)]), 2);
      assertRefused(await report(world, agent, events, result), 400, "invalid_request", words);
      assertAcked(await report(world, agent, [event(1)]), 2);
      const { body } = await world.admin("GET", `${OPERATIONS}/op-1`);
      assert.deepEqual([body.events.length, body.result], [2, null]);
    }));
}

Deno.test("events: a refused request's numbers may stay away", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    assertAcked(await report(world, agent, [event(1)]), 1);
    const bad = [event(2, { step: 1 }), event(3)];
    for (let tries = 0; tries < 3; tries++) {
      assertRefused(await report(world, agent, bad), 400, "invalid_request");
    }
    assertRefused(
      await report(world, agent, [event(6)]),
      400,
      "invalid_request",
      "2 is still missing",
    );
    assertAcked(await report(world, agent, [event(7)]), 7);
    assertRefused(
      await report(world, agent, [event(9)]),
      400,
      "invalid_request",
      "8 is still missing",
    );
  }));

Deno.test("events: a refusal that the admin ordered counts as one", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    const match = { path: "/operations/*/events" };
    await world.admin("POST", "/admin/faults", { match, action: { status: 400 } });
    assertRefused(await report(world, agent, [event(1), event(2)]), 400, "fault");
    assertAcked(await report(world, agent, [event(3)]), 3);
  }));

Deno.test("events: a result keeps its content, or comes bare", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    const bare = { state: "failed", code: "s3_failed" };
    const result = { ...bare, log_tail: ["line"], output: { name: "x" } };
    assertAcked(await report(world, agent, [event(1)], result), 1);
    for (const same of [result, bare]) assertAcked(await report(world, agent, [], same), 1);
    const changed = await report(world, agent, [], { ...bare, code: "other" });
    assertRefused(changed, 400, "invalid_request", "another content");
    assertRefused(
      await report(world, agent, [event(2)]),
      400,
      "invalid_request",
      "after the result",
    );
    const { body } = await world.admin("GET", `${OPERATIONS}/op-1`);
    assert.deepEqual(body.result, result);
  }));

Deno.test("events: an operation may be offered again for its stored result", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    const again = () => world.admin("POST", OPERATIONS, { id: "op-1", kind: "snapshot.save" });
    assertRefused(await again(), 409, "conflict");
    const result = { state: "succeeded" };
    assertAcked(await report(world, agent, [event(1)], result), 1);
    assert.equal((await world.sync(agent)).body.operation, null);
    assert.equal((await again()).status, 200);
    assert.equal((await world.sync(agent)).body.operation.id, "op-1");
    assertAcked(await report(world, agent, [], result), 1);
    assert.equal((await world.sync(agent)).body.operation, null);
  }));

Deno.test("events: knows an operation only from its offer to this node", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await world.admin("POST", OPERATIONS, { id: "op-1", kind: "snapshot.save" });
    const result = { state: "succeeded" };
    for (const id of ["op-1", "op-2", "constructor", "op-1%00"]) {
      assertRefused(await report(world, agent, [], result, id), 404, "unknown_operation");
    }
    await world.sync(agent);
    const purpose = { cluster_id: "demo", node_name: "demo-2", server_id: "2" };
    const { token } = (await world.admin("POST", "/admin/tokens", purpose)).body;
    const changes = { node_name: "demo-2", server_id: "2" };
    const body = enrollBody(token, keysOf(2), changes);
    const { agent_id: id } = (await world.client.send({ path: "/enroll", body })).body;
    const other = { id, keys: keysOf(2) };
    assertRefused(await report(world, other, [], result), 404, "unknown_operation");
    assertAcked(await report(world, agent, [], result), 0);
  }));

Deno.test("events: a deleted operation is unknown, and the next one is offered", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    await world.admin("POST", OPERATIONS, { id: "op-2", kind: "diag.collect" });
    assert.equal((await world.admin("DELETE", `${OPERATIONS}/op-1`)).status, 200);
    assertRefused(await report(world, agent, [event(1)]), 404, "unknown_operation");
    assert.equal((await world.sync(agent)).body.operation.id, "op-2");
  }));

Deno.test("queueOperation: raw offers anything, an ID that is none included", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const raw = { id: "../etc/passwd", kind: 5, params: [] };
    const { body } = await world.admin("POST", OPERATIONS, { raw });
    assert.match(body.id, /^raw-/);
    assert.deepEqual((await world.sync(agent)).body.operation, raw);
    await world.admin("DELETE", `${OPERATIONS}/${body.id}`);
    assert.equal((await world.sync(agent)).body.operation, null);
  }));

Deno.test("sync: offers an operation to its own cluster, whatever the nodes are called", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const purpose = { cluster_id: "second", node_name: "demo-1", server_id: "4711001" };
    await world.admin("POST", "/admin/tokens", purpose);
    const path = "/admin/clusters/second/operations";
    assert.equal((await world.admin("POST", path, { kind: "diag.collect" })).status, 200);
    assert.equal((await world.sync(agent)).body.operation, null);
  }));

Deno.test("events: an unknown field is ignored and noted, progress may have a fraction", () =>
  inWorld(async (world) => {
    const agent = await offered(world);
    const progress = { done: 1.5, total: 2.25, unit: "seconds" };
    assertAcked(await report(world, agent, [event(1, { percent: 5, progress })]), 1);
    const rules = world.running.portal.memory.breaches.map(({ rule }) => rule);
    assert.deepEqual(rules, ["unknown_field"]);
  }));
