import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { verifyRelease } from "../../../core/protocol/dsse.ts";
import { signingPublicKey } from "../../../core/protocol/signing.ts";
import { enrollBody, keysOf } from "./client.ts";
import { assertRefused, inWorld, RELEASE_KEYS, type World } from "./world.ts";

const TRUSTED = RELEASE_KEYS.map(signingPublicKey);

async function fetchManifest(world: World, version: string) {
  const agent = await world.enroll();
  return world.client.send({ method: "GET", path: `/releases/${version}/manifest`, agent });
}

/** Whether an agent that trusts `keys` takes this manifest as release 1.0.0's. */
async function isTaken(body: unknown, keys = TRUSTED): Promise<boolean> {
  return (await verifyRelease(new TextEncoder().encode(JSON.stringify(body)), "1.0.0", keys)).ok;
}

Deno.test("manifest: the first release is signed with both lab keys", () =>
  inWorld(async (world) => {
    const { status, body } = await fetchManifest(world, "1.0.0");
    assert.equal(status, 200);
    assert.equal(body.signatures.length, 2);
    for (const key of TRUSTED) assert.ok(await isTaken(body, [key]));
    const payload = JSON.parse(atob(body.payload));
    const { origin } = new URL(world.running.url);
    assert.equal(payload.agent.artifacts.amd64.url, `${origin}/artifacts/pbx-agent-amd64`);
  }));

/** Each: how a release is put, whether an agent takes it. */
const RELEASES: readonly [string, JsonObject, boolean][] = [
  ["the first lab key", { signed_by: ["first"] }, true],
  ["the second lab key", { signed_by: ["second"] }, true],
  ["a stranger beside a lab key", { signed_by: ["stranger", "second"] }, true],
  ["a stranger", { signed_by: ["stranger"] }, false],
  ["an impostor under a lab key's ID", { signed_by: ["impostor"] }, false],
  ["nobody", { signed_by: [] }, false],
  ["a lab key, and changed since", { tampered: true }, false],
  ["a lab key, over no release", { payload: "no JSON", raw: true }, false],
  ["whatever the envelope says", { envelope: { payloadType: "x" } }, false],
];

for (const [what, changes, taken] of RELEASES) {
  Deno.test(`manifest: signed by ${what} is ${taken ? "taken" : "refused"} by an agent`, () =>
    inWorld(async (world) => {
      const { releases } = (await world.admin("GET", "/admin/state")).body;
      const release = { payload: releases["1.0.0"].payload, ...changes };
      assert.equal((await world.admin("PUT", "/admin/releases/1.0.0", release)).status, 200);
      const { status, body } = await fetchManifest(world, "1.0.0");
      assert.equal(status, 200);
      assert.equal(await isTaken(body), taken);
    }));
}

Deno.test("manifest: an unknown release is a 404, a name that is none a 400", () =>
  inWorld(async (world) => {
    assertRefused(await fetchManifest(world, "2.0.0"), 404, "unknown_release");
    assertRefused(await fetchManifest(world, "constructor"), 404, "unknown_release");
    assertRefused(await fetchManifest(world, "..%2f"), 400, "invalid_request");
    assert.equal((await world.admin("DELETE", "/admin/releases/1.0.0")).status, 200);
    assertRefused(await fetchManifest(world, "1.0.0"), 404, "unknown_release");
  }));

Deno.test("manifest: is for agents only", () =>
  inWorld(async (world) => {
    const request = { method: "GET", path: "/releases/1.0.0/manifest" };
    assertRefused(await world.client.send(request), 400, "invalid_request", "PBX-Agent");
  }));

Deno.test("putRelease: refuses what is no release of that version, unless it is raw", () =>
  inWorld(async (world) => {
    const { payload } = (await world.admin("GET", "/admin/state")).body.releases["1.0.0"];
    const put = (body: JsonObject) => world.admin("PUT", "/admin/releases/1.1.0", body);
    assertRefused(await put({ payload }), 400, "invalid_request", "payload.version");
    assertRefused(
      await put({ payload: { version: "1.1.0" } }),
      400,
      "invalid_request",
      "payload: ",
    );
    assertRefused(await put({}), 400, "invalid_request", "payload or an envelope");
    assert.equal((await put({ payload: { ...payload, version: "1.1.0" } })).status, 200);
    assert.equal((await put({ payload, raw: true })).status, 200);
    const { body } = await fetchManifest(world, "1.1.0");
    assert.equal(JSON.parse(atob(body.payload)).version, "1.0.0");
  }));

const FILE = new TextEncoder().encode("0123456789");
const PLAIN = { "PBX-Protocol": null };

Deno.test("artifact: serves bytes, and the rest of them", () =>
  inWorld(async (world) => {
    const { body } = await world.admin("PUT", "/admin/artifacts/pbx-agent-amd64", FILE);
    const { origin } = new URL(world.running.url);
    assert.deepEqual(body, { url: `${origin}/artifacts/pbx-agent-amd64` });
    const get = (headers: Record<string, string>) =>
      world.client.send({
        method: "GET",
        path: "//artifacts/pbx-agent-amd64",
        headers: { ...PLAIN, ...headers },
      });
    assert.equal((await get({})).body, "0123456789");
    const rest = await get({ Range: "bytes=7-" });
    assert.deepEqual([rest.status, rest.body], [206, 789]);
    assert.equal(rest.headers.get("content-range"), "bytes 7-9/10");
    assert.equal((await get({ Range: "bytes=10-" })).status, 416);
  }));

Deno.test("artifact: wants to hear nothing of the protocol", () =>
  inWorld(async (world) => {
    await world.admin("PUT", "/admin/artifacts/file", FILE);
    const agent = await world.enroll(keysOf(1));
    for (const request of [{}, { agent, headers: PLAIN }]) {
      const answer = await world.client.send({
        method: "GET",
        path: "//artifacts/file",
        ...request,
      });
      assertRefused(answer, 400, "invalid_request", "not below the base");
    }
    const { breaches } = (await world.admin("GET", "/admin/state")).body;
    assert.deepEqual(breaches.map((breach: { rule: string }) => breach.rule), [
      "headers_outside_base",
      "headers_outside_base",
    ]);
  }));

Deno.test("artifact: names lead nowhere else", () =>
  inWorld(async (world) => {
    for (const name of ["missing", "..%2fportal.json", "../portal.json", "%2e%2e/portal.json"]) {
      const path = `//artifacts/${name}`;
      const answer = await world.client.send({ method: "GET", path, headers: PLAIN });
      assert.equal(answer.status, 404);
    }
    const body = enrollBody(world.token, keysOf(1));
    const answer = await world.client.send({ path: "//artifacts/x", body, headers: PLAIN });
    assertRefused(answer, 405, "method_not_allowed");
    assertRefused(await world.admin("PUT", "/admin/artifacts/.x", FILE), 400, "invalid_request");
  }));
