import assert from "node:assert/strict";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { sign, signedBytes } from "../../../core/protocol/signing.ts";
import { type Keys, keysOf, type Request, syncBody } from "./client.ts";
import { assertRefused, inWorld } from "./world.ts";

const NOON = Date.parse("2026-03-01T12:00:00Z");

/** Each: what is different in a signed sync, what the portal says. */
const REFUSALS: readonly [string, Partial<Request>, number, string][] = [
  ["no PBX-Protocol", { headers: { "PBX-Protocol": null } }, 400, "invalid_request"],
  [
    "PBX-Protocol that is no number",
    { headers: { "PBX-Protocol": "one" } },
    400,
    "invalid_request",
  ],
  ["another protocol", { headers: { "PBX-Protocol": "2" } }, 426, "protocol_too_old"],
  ["another User-Agent", { headers: { "User-Agent": "curl/8" } }, 400, "invalid_request"],
  ["another Content-Type", { headers: { "Content-Type": "text/plain" } }, 400, "invalid_request"],
  ["a packed body", { headers: { "Content-Encoding": "gzip" } }, 400, "invalid_request"],
  ["no agent", { headers: { "PBX-Agent": null } }, 400, "invalid_request"],
  ["an agent with a path for a name", { headers: { "PBX-Agent": "../x" } }, 400, "invalid_request"],
  ["an unknown agent", { headers: { "PBX-Agent": "agent-0" } }, 401, "revoked"],
  ["a built-in name for an agent", { headers: { "PBX-Agent": "constructor" } }, 401, "revoked"],
  ["no timestamp", { headers: { "PBX-Timestamp": null } }, 400, "invalid_request"],
  ["a timestamp with a fraction", { headers: { "PBX-Timestamp": "1.5" } }, 400, "invalid_request"],
  ["a timestamp with a sign", { headers: { "PBX-Timestamp": "+1" } }, 400, "invalid_request"],
  ["a timestamp with zeros before", { headers: { "PBX-Timestamp": "01" } }, 400, "invalid_request"],
  ["a clock 61 s behind", { at: NOON - 61_000 }, 409, "clock_skew"],
  ["a clock 61 s ahead", { at: NOON + 61_000 }, 409, "clock_skew"],
  ["no signature", { headers: { "PBX-Signature": null } }, 400, "invalid_request"],
  ["a short signature", { headers: { "PBX-Signature": "AAAA" } }, 400, "invalid_request"],
  [
    "a signature without padding",
    {
      headers: { "PBX-Signature": "A".repeat(86) },
    },
    400,
    "invalid_request",
  ],
  [
    "a signature of nothing",
    {
      headers: { "PBX-Signature": btoa("\0".repeat(64)) },
    },
    401,
    "bad_signature",
  ],
  [
    "a time that was not signed",
    {
      headers: { "PBX-Timestamp": String(NOON / 1000 + 1) },
    },
    401,
    "bad_signature",
  ],
];

for (const [what, changes, status, code] of REFUSALS) {
  Deno.test(`authenticate: refuses ${what}`, () =>
    inWorld(async (world) => {
      const agent = await world.enroll();
      const sync = { path: "/sync", body: syncBody(), agent, ...changes };
      const answer = await world.client.send(sync);
      assertRefused(answer, status, code);
      assert.equal(answer.body.error.time, code === "clock_skew" ? TIME : undefined);
      assert.equal(answer.body.error.release, code === "protocol_too_old" ? "1.0.0" : undefined);
    }));
}

const SKEWS = [[-60_000, 200], [60_000, 200], [-61_000, 409], [61_000, 409]] as const;
const TIME = "2026-03-01T12:00:00.000Z";

Deno.test("authenticate: refuses another's key, body, path and method", () =>
  inWorld(async (world) => {
    const { id, keys } = await world.enroll();
    const send = (request: Request) => world.client.send(request);
    const other = { id, keys: keysOf(2) };
    assertRefused(
      await send({ path: "/sync", body: syncBody(), agent: other }),
      401,
      "bad_signature",
    );
    // The signature of one request under another one.
    const second = NOON / 1000 + 30;
    const headers = {
      "PBX-Agent": id,
      "PBX-Timestamp": String(second),
      "PBX-Signature": signatureOf(keys, second),
    };
    const stolen: Request[] = [
      { path: "/sync", body: syncBody({ addons: [{ name: "a", state: "applied" }] }), headers },
      { path: "/rotate-key", body: syncBody(), headers },
      { path: "/releases/1.0.0/manifest", method: "GET", headers },
    ];
    for (const request of stolen) assertRefused(await send(request), 401, "bad_signature");
    assert.equal((await send({ path: "/sync", body: syncBody(), headers })).status, 200);
  }));

Deno.test("authenticate: takes 60 s either way, by the clock that the admin set", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    for (const offset of [-3600_000, 0, 7200_000]) {
      assert.equal((await world.admin("PUT", "/admin/clock", { offset_ms: offset })).status, 200);
      for (const [skew, status] of SKEWS) {
        const at = world.clock.ms + offset + skew;
        const answer = await world.client.send({ path: "/sync", body: syncBody(), agent, at });
        assert.equal(answer.status, status);
        const date = new Date(world.clock.ms + offset).toUTCString();
        assert.equal(answer.headers.get("date"), date);
      }
    }
  }));

Deno.test("authenticate: counts whole seconds, as the timestamp does", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    world.clock.ms = NOON + 999;
    for (const [skew, status] of SKEWS) {
      const request = { path: "/sync", body: syncBody(), agent, at: NOON + skew };
      assert.equal((await world.client.send(request)).status, status, String(skew));
    }
    // As long as a signature may come again it is remembered.
    const last = { path: "/sync", body: syncBody(), agent, at: NOON + 60_000 };
    world.clock.ms = NOON + 120_999;
    assertRefused(await world.client.send(last), 400, "replayed");
  }));

Deno.test("authenticate: a query is ignored, and signed as it is sent", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const send = (path: string) => world.client.send({ path, body: syncBody(), agent });
    assert.equal((await send("/sync?a=1&b=%20")).status, 200);
    const signed = await world.client.send({
      path: "/sync?a=1",
      body: syncBody(),
      agent,
      headers: { "PBX-Timestamp": String(NOON / 1000 + 5) },
    });
    assertRefused(signed, 401, "bad_signature");
  }));

Deno.test("authenticate: remembers a signature for 120 s", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const at = NOON + 60_000;
    const send = () => world.client.send({ path: "/sync", body: syncBody(), agent, at });
    assert.equal((await send()).status, 200);
    for (const passed of [0, 119_000]) {
      world.clock.ms = NOON + passed;
      assertRefused(await send(), 400, "replayed");
    }
  }));

Deno.test("authenticate: remembers a signature whose request was refused", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const request = { path: "/sync", body: syncBody({ protocol: 2 }), agent, at: NOON };
    assertRefused(await world.client.send(request), 400, "invalid_request", "protocol");
    assertRefused(await world.client.send(request), 400, "replayed");
  }));

Deno.test("authenticate: a revoked agent is told so everywhere, whatever its clock says", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    assert.equal((await world.sync(agent)).status, 200);
    await world.admin("POST", `/admin/agents/${agent.id}/revoke`);
    for (const at of [NOON, NOON - 3600_000]) {
      const answer = await world.client.send({ path: "/sync", body: syncBody(), agent, at });
      assertRefused(answer, 401, "revoked");
    }
    const manifest = { path: "/releases/1.0.0/manifest", method: "GET", agent };
    assertRefused(await world.client.send(manifest), 401, "revoked");
  }));

const PATHS: readonly [string, string, number][] = [
  ["GET", "/sync", 405],
  ["GET", "/enroll", 405],
  ["PUT", "/rotate-key", 405],
  ["POST", "/releases/1.0.0/manifest", 405],
  ["POST", "/", 404],
  ["POST", "/sync/", 404],
  ["POST", "/Sync", 404],
  ["POST", "/operations//events", 404],
  ["POST", "/operations/a/b/events", 404],
  ["GET", "/constructor", 404],
];

for (const [method, path, status] of PATHS) {
  Deno.test(`serve: answers ${status} to ${method} ${path}`, () =>
    inWorld(async (world) => {
      const answer = await world.client.send({ method, path });
      assert.equal(answer.status, status);
      assert.equal(answer.headers.has("allow"), status === 405);
    }));
}

Deno.test("serve: a body may have 262,144 bytes and not one more", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    for (const [length, status] of [[262_144, 400], [262_145, 413]] as const) {
      const body = new Uint8Array(length).fill(0x20);
      assert.equal((await world.client.send({ path: "/sync", body, agent })).status, status);
    }
  }));

Deno.test("serve: another base is the only one", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    assert.match(world.running.url, /\/x\/y\/agent\/v1$/);
    assert.equal((await world.sync(agent)).status, 200);
    const answer = await world.client.send({ path: "//agent/v1/sync", body: syncBody() });
    assertRefused(answer, 400, "invalid_request", "pbx-protocol");
  }, { base: "/x/y/agent/v1" }));

Deno.test("serve: speaks TLS with a certificate of its own", () =>
  inWorld(async (world) => {
    assert.match(world.running.url, /^https:/);
    world.clock.ms = Date.now();
    assert.equal((await world.sync(await world.enroll())).status, 200);
    await assert.rejects(fetch(world.running.url), /certificate|sending request|fetch failed/);
  }, { tls: true }));

/** The agent's own signature of a plain sync, not sent anywhere yet. */
function signatureOf(keys: Keys, timestamp: number): string {
  const body = new TextEncoder().encode(JSON.stringify(syncBody()));
  const parts = { method: "POST", path: "/agent/v1/sync", timestamp, body };
  return encodeBase64(sign(keys.signing, signedBytes(parts)));
}
