import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { EnrollAnswer } from "../../../core/protocol/enroll.ts";
import { enrollBody, keysOf, open } from "./client.ts";
import { assertRefused, inWorld, type World } from "./world.ts";

Deno.test("enroll: answers as the schema says, sealed to the asker's key", () =>
  inWorld(async (world) => {
    const { answer, keys } = await world.enroll();
    assert.ok(EnrollAnswer.safeParse(answer).success);
    assert.match(answer.agent_id, /^agent-[0-9a-f]{16}$/);
    assert.equal(answer.time, "2026-03-01T12:00:00.000Z");
    assert.match(open(keys, answer.k3s.token) ?? "", /^[0-9a-f]{40}$/);
    assert.equal(open(keysOf(2), answer.k3s.token), null);
  }));

Deno.test("enroll: gives the same asker the same answer with the present time", () =>
  inWorld(async (world) => {
    const { answer } = await world.enroll();
    world.clock.ms += 3600_000;
    const again = await world.enroll();
    assert.deepEqual(again.answer, { ...answer, time: "2026-03-01T13:00:00.000Z" });
  }));

Deno.test("enroll: gives the same answer after the token's end and after the secrets changed", () =>
  inWorld(async (world) => {
    const token = await issue(world, { node_name: "demo-2", server_id: "2", expires_at: END });
    const body = enrollBody(token, keysOf(1), { node_name: "demo-2", server_id: "2" });
    const first = await world.client.send({ path: "/enroll", body });
    const k3s = { token: { plain: "changed-since-then" } };
    assert.equal((await world.admin("PATCH", DEMO, { bootstrap: { k3s } })).status, 200);
    world.clock.ms = Date.parse(END) + 1;
    const second = await world.client.send({ path: "/enroll", body });
    assert.equal(first.status, 200);
    assert.deepEqual(second.body.k3s, first.body.k3s);
  }));

const DEMO = "/admin/clusters/demo";
const END = "2026-03-01T12:10:00Z";
const IMAGE = "b".repeat(64);

/** Each: what is different, what the portal says. */
const REFUSALS: readonly [string, JsonObject, number, string][] = [
  ["an unknown token", { token: "pbx_unknown" }, 401, "invalid_token"],
  ["another cluster", { cluster_id: "other" }, 401, "invalid_token"],
  ["another node", { node_name: "demo-2" }, 401, "invalid_token"],
  ["another server", { server_id: "4711002" }, 401, "server_mismatch"],
  ["another protocol", { protocol: 2 }, 400, "invalid_request"],
  ["another architecture", { arch: "x86_64" }, 400, "invalid_request"],
  ["a hash in upper case", { boot_image_sha256: "B".repeat(64) }, 400, "invalid_request"],
  [
    "a short key",
    { public_keys: { ...keysOf(1).public, signing: "AAAA" } },
    400,
    "invalid_request",
  ],
  [
    "a key without padding",
    {
      public_keys: { ...keysOf(1).public, sealing: keysOf(1).public.sealing.replace("=", "") },
    },
    400,
    "invalid_request",
  ],
  [
    "one key for both",
    {
      public_keys: { signing: keysOf(1).public.signing, sealing: keysOf(1).public.signing },
    },
    400,
    "invalid_request",
  ],
  [
    "a key of zeros",
    {
      public_keys: { ...keysOf(1).public, sealing: btoa("\0".repeat(32)) },
    },
    400,
    "invalid_request",
  ],
];

for (const [what, changes, status, code] of REFUSALS) {
  Deno.test(`enroll: refuses ${what}`, () =>
    inWorld(async (world) => {
      const body = enrollBody(world.token, keysOf(1), changes);
      assertRefused(await world.client.send({ path: "/enroll", body }), status, code);
      // A refusal uses nothing up.
      await world.enroll();
    }));
}

Deno.test("enroll: refuses a token that other keys or another server used", () =>
  inWorld(async (world) => {
    await world.enroll();
    for (const [keys, changes] of [[keysOf(2), {}], [keysOf(1), { server_id: "1" }]] as const) {
      const body = enrollBody(world.token, keys, changes);
      assertRefused(await world.client.send({ path: "/enroll", body }), 401, "token_used");
    }
  }));

Deno.test("enroll: hands a revoked identity out no more", () =>
  inWorld(async (world) => {
    const { id, keys } = await world.enroll();
    await world.admin("POST", `/admin/agents/${id}/revoke`);
    const body = enrollBody(world.token, keys);
    assertRefused(await world.client.send({ path: "/enroll", body }), 401, "token_used");
  }));

Deno.test("enroll: a token ends at its time", () =>
  inWorld(async (world) => {
    const token = await issue(world, { node_name: "demo-2", server_id: "2", expires_at: END });
    const body = enrollBody(token, keysOf(1), { node_name: "demo-2", server_id: "2" });
    world.clock.ms = Date.parse(END);
    assertRefused(await world.client.send({ path: "/enroll", body }), 401, "token_expired");
    world.clock.ms -= 1;
    assert.equal((await world.client.send({ path: "/enroll", body })).status, 200);
  }));

Deno.test("enroll: demands the expected boot image where the cluster has one", () =>
  inWorld(async (world) => {
    await world.admin("PATCH", DEMO, { expected_image_sha256: IMAGE });
    for (const hash of [null, "c".repeat(64)]) {
      const body = enrollBody(world.token, keysOf(1), { boot_image_sha256: hash });
      assertRefused(await world.client.send({ path: "/enroll", body }), 409, "image_mismatch");
    }
    const body = enrollBody(world.token, keysOf(1), { boot_image_sha256: IMAGE });
    assert.equal((await world.client.send({ path: "/enroll", body })).status, 200);
  }));

Deno.test("enroll: a node has one agent at a time, and a key one agent ever", () =>
  inWorld(async (world) => {
    const { id } = await world.enroll();
    const token = await issue(world, {});
    const send = (number: number) =>
      world.client.send({ path: "/enroll", body: enrollBody(token, keysOf(number)) });
    assertRefused(await send(2), 409, "conflict");
    await world.admin("POST", `/admin/agents/${id}/revoke`);
    assertRefused(await send(1), 400, "invalid_request", "another agent");
    assert.equal((await send(2)).status, 200);
  }));

Deno.test("enroll: takes no signature", () =>
  inWorld(async (world) => {
    const body = enrollBody(world.token, keysOf(1));
    const agent = { id: "agent-1", keys: keysOf(1) };
    const answer = await world.client.send({ path: "/enroll", body, agent });
    assertRefused(answer, 400, "invalid_request", "not signed");
  }));

async function issue(world: World, purpose: JsonObject): Promise<string> {
  const usual = { cluster_id: "demo", node_name: "demo-1", server_id: "4711001" };
  const answer = await world.admin("POST", "/admin/tokens", { ...usual, ...purpose });
  assert.equal(answer.status, 200);
  return answer.body.token;
}
