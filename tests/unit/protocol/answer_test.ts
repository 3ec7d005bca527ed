import assert from "node:assert/strict";
import fc from "fast-check";
import { meaningOf, type Reply } from "../../../core/protocol/answer.ts";
import { fail, ok } from "../../../core/result.ts";
import { partOf } from "../part_of.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");

function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: new TextEncoder().encode(text),
  };
}

function error(code: string, more: Record<string, unknown> = {}) {
  return { error: { code, message: "said so", ...more } };
}

Deno.test("meaningOf: a known status is read by its status, with a readable body or without", () => {
  const cases: [Reply, Record<string, unknown>][] = [
    [reply(400, error("bad_request")), { kind: "rejected", status: 400, code: "bad_request" }],
    [reply(400, "oops"), { kind: "rejected", status: 400, code: "" }],
    [reply(400, error("replayed")), { kind: "replayed" }],
    [reply(401, error("revoked")), { kind: "unauthorized", code: "revoked" }],
    [reply(401, "<html>"), { kind: "trouble", code: "not_the_portal" }],
    [reply(403, ""), { kind: "trouble", code: "not_the_portal" }],
    [reply(407, "<html>"), { kind: "trouble", code: "not_the_portal" }],
    // JSON that is not the protocol's, and the protocol's that is not said to be JSON.
    [reply(401, { message: "log in" }), { kind: "trouble", code: "not_the_portal" }],
    [reply(401, { error: "unauthorized" }), { kind: "trouble", code: "not_the_portal" }],
    [reply(401, error("Not-Ours")), { kind: "trouble", code: "not_the_portal" }],
    [reply(403, error("")), { kind: "trouble", code: "not_the_portal" }],
    [reply(401, error("revoked"), { "content-type": "text/html" }), {
      kind: "trouble",
      code: "not_the_portal",
    }],
    [reply(403, error("forbidden")), { kind: "rejected", status: 403, code: "forbidden" }],
    [reply(407, error("forbidden")), { kind: "rejected", status: 407, code: "forbidden" }],
    [reply(401, error("replayed")), { kind: "unauthorized", code: "replayed" }],
    [
      reply(409, error("clock_skew", { time: "2026-03-01T13:00:00+01:00" })),
      { kind: "clock_skew", portalTime: NOW },
    ],
    [reply(409, error("clock_skew")), { kind: "rejected", code: "clock_skew" }],
    [reply(409, error("clock_skew", { time: "soon" })), { kind: "rejected" }],
    // A member of another type hides neither the code nor the members that the code has.
    [
      reply(409, error("clock_skew", { time: "2026-03-01T12:00:00Z", message: null, release: 5 })),
      { kind: "clock_skew", portalTime: NOW },
    ],
    [reply(409, error("clock_skew", { time: 5 })), { kind: "rejected", code: "clock_skew" }],
    [reply(400, error("replayed", { message: ["m"] })), { kind: "replayed" }],
    [reply(409, error("conflict")), { kind: "rejected", status: 409, code: "conflict" }],
    [reply(409, ""), { kind: "rejected", status: 409, code: "" }],
    [reply(426, error("protocol_too_old", { release: "1.5.0" })), {
      kind: "too_old",
      release: "1.5.0",
    }],
    [reply(426, error("protocol_too_old")), { kind: "too_old", release: null }],
    [reply(426, error("protocol_too_old", { release: "../x" })), {
      kind: "too_old",
      release: null,
    }],
    [reply(426, "{"), { kind: "too_old", release: null }],
    [reply(429, "slow down", { "retry-after": "7" }), { kind: "wait", ms: 7_000 }],
    [reply(429, error("too_many_requests")), { kind: "trouble", code: "http_429" }],
    [reply(429, "", { "retry-after": "-1" }), { kind: "trouble", code: "http_429" }],
    [reply(404, error("unknown_operation")), { kind: "rejected", code: "unknown_operation" }],
    [reply(413, ""), { kind: "rejected", status: 413 }],
    [reply(301, ""), { kind: "rejected", status: 301 }],
    [reply(304, ""), { kind: "rejected", status: 304 }],
    [reply(500, error("internal")), { kind: "trouble", code: "http_500" }],
    [reply(503, "<html>"), { kind: "trouble", code: "http_503" }],
    [reply(599, ""), { kind: "trouble", code: "http_599" }],
    [reply(204, ""), { kind: "trouble", code: "http_204" }],
    [reply(201, {}), { kind: "trouble", code: "http_201" }],
  ];
  for (const [given, expected] of cases) {
    const shown = `${given.status} ${new TextDecoder().decode(given.body)}`;
    assert.deepEqual(partOf(meaningOf(ok(given), NOW), expected), expected, shown);
  }
});

Deno.test("meaningOf: 200 counts only as JSON by its content type and its bytes", () => {
  const cases: [string | null, string, boolean][] = [
    ["application/json", "{}", true],
    ["application/json; charset=utf-8", "{}", true],
    ["APPLICATION/JSON", "null", true],
    ["application/problem+json", "[]", true],
    [" application/json ", "{}", true],
    ["text/html", "{}", false],
    ["text/json", "{}", false],
    ["application/jsonp", "{}", false],
    ["", "{}", false],
    [null, "{}", false],
    ["application/json", "", false],
    ["application/json", "{", false],
    ["application/json", '{"__proto__": 1}', false],
    ["application/json", '{"a": [{"constructor": 1}]}', false],
  ];
  for (const [type, body, good] of cases) {
    const given = { ...reply(200, body), headers: type === null ? {} : { "content-type": type } };
    const meaning = meaningOf(ok(given), NOW);
    const expected = good ? { kind: "success" } : { kind: "trouble", code: "malformed_answer" };
    assert.deepEqual(partOf(meaning, expected), expected, `${type} ${body}`);
  }
});

Deno.test("meaningOf: no answer is trouble, a body over the limit by its own name", () => {
  for (const code of ["connect", "tls", "timeout", "cut"]) {
    assert.deepEqual(meaningOf(fail({ code, message: "m" }), NOW), {
      kind: "trouble",
      code,
      message: "m",
    });
  }
  assert.deepEqual(meaningOf(fail({ code: "too_large", message: "m" }), NOW), {
    kind: "trouble",
    code: "body_too_large",
    message: "m",
  });
});

Deno.test("meaningOf: what the portal says in an error is cut to a length", () => {
  const meaning = meaningOf(ok(reply(500, error("x", { message: "m".repeat(5_000) }))), NOW);
  assert.ok(meaning.kind === "trouble" && meaning.message.length < 400);
});

Deno.test("meaningOf: whatever comes has one meaning, and nothing throws", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 599 }),
      fc.oneof(fc.uint8Array({ maxLength: 60 }), fc.json().map((t) => new TextEncoder().encode(t))),
      fc.dictionary(
        fc.constantFrom("content-type", "retry-after", "date"),
        fc.oneof(fc.string(), fc.constant("application/json"), fc.integer().map(String)),
      ),
      (status, body, headers) => {
        const meaning = meaningOf(ok({ status, headers, body }), NOW);
        if (meaning.kind === "wait") assert.ok(meaning.ms >= 1_000 && meaning.ms <= 3_600_000);
        if (meaning.kind === "success") assert.equal(status, 200);
      },
    ),
    { seed: 11, numRuns: 500 },
  );
});
