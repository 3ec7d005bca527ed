import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { keysOf, rotateBody } from "./client.ts";
import { assertRefused, inWorld, type World } from "./world.ts";

async function order(world: World, fault: JsonObject): Promise<void> {
  const answer = await world.admin("POST", "/admin/faults", fault);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

/** Each: the action, the answer's status, content type and body's beginning. */
const ANSWERS: readonly [string, JsonObject, number, string, RegExp][] = [
  ["a status", { status: 503 }, 503, "application/json", /^\{"error":\{"code":"fault"/],
  ["a status with a body", { status: 429, body: { a: 1 } }, 429, "application/json", /^\{"a":1\}$/],
  ["a text", { text: "{}}" }, 200, "application/json", /^\{\}\}$/],
  [
    "a text of another type",
    {
      text: "hello",
      headers: { "content-type": "text/plain" },
    },
    200,
    "text/plain",
    /^hello$/,
  ],
  ["half a JSON", { malformed: true }, 200, "application/json", /^\{"time": "2026-01-01T00:$/],
  ["a page", { not_json: true }, 200, "text/html", /^<html>/],
  ["a redirect", { status: 302, headers: { location: "/" } }, 302, "application/json", /./],
];

for (const [what, action, status, type, body] of ANSWERS) {
  Deno.test(`faults: answers ${what}, once, and processes nothing`, () =>
    inWorld(async (world) => {
      const agent = await world.enroll();
      await order(world, { match: { path: "/sync" }, action });
      const answer = await world.sync(agent);
      assert.deepEqual([answer.status, answer.headers.get("content-type")], [status, type]);
      const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
      assert.match(text, body);
      assert.equal((await world.admin("GET", "/admin/state")).body.agents[agent.id].report, null);
      assert.equal((await world.sync(agent)).status, 200);
    }));
}

Deno.test("faults: oversize is good JSON over the limit", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await order(world, { action: { oversize: true } });
    const { body } = await world.sync(agent);
    assert.ok(JSON.stringify(body).length > 262_144);
  }));

Deno.test("faults: a header of an answer is the admin's", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await order(world, { action: { status: 429, headers: { "retry-after": "7" } } });
    assert.equal((await world.sync(agent)).headers.get("retry-after"), "7");
  }));

Deno.test("faults: merge changes the true answer", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const merge = { time: "yesterday", desired: { host: null }, extra: 1 };
    await order(world, { action: { merge } });
    const { body } = await world.sync(agent);
    assert.deepEqual([body.time, body.extra, body.desired.host], ["yesterday", 1, undefined]);
    assert.equal(body.desired.revision, 1);
  }));

Deno.test("faults: match by method and path, skip some, hit some", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const match = { method: "POST", path: "/s*c" };
    await order(world, { match, skip: 1, count: 2, action: { status: 500 } });
    const manifest = { method: "GET", path: "/releases/1.0.0/manifest", agent };
    const statuses = [];
    for (let turn = 0; turn < 4; turn++) {
      assert.equal((await world.client.send(manifest)).status, 200);
      statuses.push((await world.sync(agent)).status);
    }
    assert.deepEqual(statuses, [200, 500, 500, 200]);
  }));

Deno.test("faults: last until they are deleted where no count is set", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await order(world, { count: null, action: { status: 500 } });
    for (let turn = 0; turn < 3; turn++) assert.equal((await world.sync(agent)).status, 500);
    await world.admin("DELETE", "/admin/faults");
    assert.equal((await world.sync(agent)).status, 200);
  }));

/** Each: the fault of a rotation, whether the portal has processed it. */
const LOST: readonly [string, JsonObject, boolean][] = [
  ["cut before", { cut: "before" }, false],
  ["cut after", { cut: "after" }, true],
  ["cut midway", { cut: "midway" }, true],
  ["status", { status: 500 }, false],
  ["status after", { status: 500, after: true }, true],
];

for (const [what, action, processed] of LOST) {
  Deno.test(`faults: ${what} loses the answer, ${processed ? "not" : "and"} the request`, () =>
    inWorld(async (world) => {
      const { id, keys } = await world.enroll();
      await order(world, { action });
      const fresh = keysOf(2);
      const rotate = { path: "/rotate-key", body: rotateBody(id, fresh), agent: { id, keys } };
      const lost = await world.client.send(rotate).catch(() => null);
      assert.equal(lost?.status, action["status"]);
      const answer = await world.sync({ id, keys: fresh });
      if (processed) assert.equal(answer.status, 200);
      else assertRefused(answer, 401, "bad_signature");
      const { requests } = (await world.admin("GET", "/admin/state")).body;
      const noted = requests.find((request: JsonObject) => "fault" in request);
      assert.equal(noted.path, "/agent/v1/rotate-key");
    }));
}

Deno.test("faults: refuses an action that it does not know", () =>
  inWorld(async (world) => {
    for (const action of [{ explode: true }, { cut: "sometimes" }, { headers: { "a b": "c" } }]) {
      const answer = await world.admin("POST", "/admin/faults", { action });
      assertRefused(answer, 400, "invalid_request", "action");
    }
  }));

Deno.test("outage: refuses connections, then comes back on the same port", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    assert.equal((await world.admin("POST", "/admin/outage", { down: true })).status, 200);
    await assert.rejects(world.sync(agent));
    assert.equal((await world.admin("GET", "/admin/state")).body.outage, true);
    await world.admin("POST", "/admin/outage", { down: false });
    assert.equal((await world.sync(agent)).status, 200);
  }));
