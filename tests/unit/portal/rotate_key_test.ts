import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { enrollBody, type Keys, keysOf, rotateBody } from "./client.ts";
import { assertRefused, inWorld, type World } from "./world.ts";

const OLD = keysOf(1);
const NEW = keysOf(2);
const NEWER = keysOf(3);

function rotate(world: World, id: string, signer: Keys, to: Keys, changes: JsonObject = {}) {
  const body = { ...rotateBody(id, to), ...changes };
  return world.client.send({ path: "/rotate-key", body, agent: { id, keys: signer } });
}

Deno.test("rotateKey: either key counts until the new one has signed a sync", () =>
  inWorld(async (world) => {
    const { id } = await world.enroll(OLD);
    const answer = await rotate(world, id, OLD, NEW);
    assert.deepEqual([answer.status, answer.body], [200, {}]);
    // The same rotation again, with either key, and syncs with the old one.
    for (const signer of [OLD, NEW, OLD]) {
      assert.equal((await rotate(world, id, signer, NEW)).status, 200);
      assert.equal((await world.sync({ id, keys: OLD })).status, 200);
    }
    assert.equal((await world.sync({ id, keys: NEW })).status, 200);
    assertRefused(await world.sync({ id, keys: OLD }), 401, "bad_signature");
    assertRefused(await rotate(world, id, OLD, NEW), 401, "bad_signature");
    assert.equal((await rotate(world, id, NEW, NEW)).status, 200);
  }));

Deno.test("rotateKey: a refused sync with the new key confirms nothing", () =>
  inWorld(async (world) => {
    const { id } = await world.enroll(OLD);
    await rotate(world, id, OLD, NEW);
    assert.equal((await world.sync({ id, keys: NEW }, { protocol: 2 })).status, 400);
    assert.equal((await world.sync({ id, keys: OLD })).status, 200);
  }));

Deno.test("rotateKey: another rotation replaces one that was not confirmed", () =>
  inWorld(async (world) => {
    const { id } = await world.enroll(OLD);
    await rotate(world, id, OLD, NEW);
    assert.equal((await rotate(world, id, OLD, NEWER)).status, 200);
    assertRefused(await world.sync({ id, keys: NEW }), 401, "bad_signature");
    assert.equal((await world.sync({ id, keys: NEWER })).status, 200);
    assertRefused(await world.sync({ id, keys: OLD }), 401, "bad_signature");
  }));

/** Each: what is wrong with a rotation to NEW, the change, the code. */
const REFUSALS: readonly [string, (id: string) => JsonObject, string][] = [
  [
    "a proof by the old key",
    (id) => ({ proof: rotateBody(id, OLD)["proof"] ?? "" }),
    "invalid_proof",
  ],
  ["a proof for another agent", () => rotateBody("agent-0", NEW), "invalid_proof"],
  ["a proof that is no base64", () => ({ proof: "!" }), "invalid_proof"],
  ["another sealing key than proven", () => ({
    public_keys: { ...NEW.public, sealing: NEWER.public.sealing },
  }), "invalid_proof"],
  ["no proof", () => ({ proof: null }), "invalid_request"],
  ["a short key", () => ({ public_keys: { ...NEW.public, sealing: "AAAA" } }), "invalid_request"],
];

for (const [what, changes, code] of REFUSALS) {
  Deno.test(`rotateKey: refuses ${what}`, () =>
    inWorld(async (world) => {
      const { id } = await world.enroll(OLD);
      assertRefused(await rotate(world, id, OLD, NEW, changes(id)), 400, code);
      // Nothing has changed.
      assertRefused(await world.sync({ id, keys: NEW }), 401, "bad_signature");
      assert.equal((await world.sync({ id, keys: OLD })).status, 200);
    }));
}

Deno.test("rotateKey: no key comes back, and none is another agent's", () =>
  inWorld(async (world) => {
    const { id } = await world.enroll(OLD);
    await rotate(world, id, OLD, NEW);
    await world.sync({ id, keys: NEW });
    assertRefused(await rotate(world, id, NEW, OLD), 400, "key_reused");
    const purpose = { cluster_id: "demo", node_name: "demo-2", server_id: "2" };
    const { body } = await world.admin("POST", "/admin/tokens", purpose);
    const request = enrollBody(body.token, NEWER, { node_name: "demo-2", server_id: "2" });
    assert.equal((await world.client.send({ path: "/enroll", body: request })).status, 200);
    assertRefused(await rotate(world, id, NEW, NEWER), 400, "key_reused");
  }));
