import assert from "node:assert/strict";
import fc from "fast-check";
import type { JsonValue } from "../../../core/json.ts";
import { enrollBody, keysOf, rotateBody, syncBody } from "./client.ts";
import { inWorld, type World } from "./world.ts";

const SEED = 20260301;

/** Bytes that are no good request; the portal answers 400 or hangs up, and goes on. */
const RUBBISH: readonly string[] = [
  "\r\n\r\n",
  "hello\r\n\r\n",
  "GET /\r\n\r\n",
  "get / HTTP/1.1\r\n\r\n",
  "GET / HTTP/2.0\r\n\r\n",
  "GET / HTTP/1.1\r\nno colon\r\n\r\n",
  "GET / HTTP/1.1\r\n: empty\r\n\r\n",
  `GET /${"x".repeat(40_000)} HTTP/1.1\r\n\r\n`,
  `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(200)}\r\n`,
  "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
  "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\nx",
  "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n",
  "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
];

for (const bytes of RUBBISH) {
  Deno.test(`listen: survives ${JSON.stringify(bytes.slice(0, 60))}`, () =>
    inWorld(async (world) => {
      const answer = await converse(world, bytes);
      assert.match(answer, /^(HTTP\/1\.1 400 |$)/);
      assert.equal((await world.sync(await world.enroll())).status, 200);
    }));
}

Deno.test("listen: takes chunks, several requests on one connection, and 100-continue", () =>
  inWorld(async (world) => {
    const body = JSON.stringify(enrollBody(world.token, keysOf(1)));
    const head = "POST /agent/v1/enroll HTTP/1.1\r\nPBX-Protocol: 1\r\n" +
      "User-Agent: pbx-agent/0.1.0\r\nContent-Type: application/json\r\n";
    const chunks = [body.slice(0, 9), body.slice(9)]
      .map((chunk) => `${chunk.length.toString(16)};ext=1\r\n${chunk}\r\n`).join("");
    const answer = await converse(
      world,
      `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\nTrailer: x\r\n\r\n` +
        `${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n` +
        `Connection: close\r\n\r\n${body}`,
    );
    const statuses = [...answer.matchAll(/HTTP\/1\.1 (\d+) /g)].map((match) => match[1]);
    assert.deepEqual(statuses, ["200", "100", "200"]);
  }));

Deno.test("listen: refuses chunks over the limit", () =>
  inWorld(async (world) => {
    const chunk = `${(200_000).toString(16)}\r\n${"x".repeat(200_000)}\r\n`;
    const head = "POST /agent/v1/sync HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert.match(await converse(world, `${head}${chunk}${chunk}0\r\n\r\n`), /^HTTP\/1\.1 413 /);
  }));

/** Each: an endpoint and a good body for it. */
const DOCUMENTS: readonly [string, (id: string) => JsonValue][] = [
  ["/enroll", () => enrollBody("pbx_x", keysOf(2))],
  ["/sync", () => syncBody()],
  ["/rotate-key", (id) => rotateBody(id, keysOf(2))],
  ["/operations/op-1/events", () => ({
    events: [{ seq: 1, at: "2026-03-01T12:00:00Z", step: null, state: "started" }],
    result: { state: "succeeded", output: { a: [1, null] } },
  })],
];

for (const [path, good] of DOCUMENTS) {
  Deno.test(`serve: no mutation of a body breaks ${path} (seed ${SEED})`, () =>
    inWorld(async (world) => {
      const agent = await world.enroll();
      await world.admin("POST", "/admin/clusters/demo/operations", { id: "op-1", kind: "x" });
      await world.sync(agent);
      const mutation = fc.tuple(fc.nat(), fc.jsonValue());
      await fc.assert(
        fc.asyncProperty(mutation, async ([at, value]) => {
          const body = mutate(good(agent.id), at, value as JsonValue);
          const signer = path === "/enroll" ? {} : { agent };
          // A second is a signature's name; the clock goes on so that none repeats.
          world.clock.ms += 1000;
          const answer = await world.client.send({ path, body, ...signer });
          assert.ok(answer.status < 500, JSON.stringify(answer.body));
        }),
        { seed: SEED, numRuns: 60 },
      );
      assert.ok(!world.log.some((line) => line.includes("portal_broke")));
    }));
}

Deno.test("serve: bodies that are no JSON document are refused", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const bodies = [
      "",
      "{",
      "null",
      "[]",
      "5",
      '"x"',
      '{"__proto__": {}}',
      '{"a": 1, "a": 2}',
      "\xff",
    ];
    for (
      const text of [...bodies, "[".repeat(10_000), `{"a":${"[".repeat(70)}${"]".repeat(70)}}`]
    ) {
      for (const [path] of DOCUMENTS) {
        const body = Uint8Array.from(text, (character) => character.charCodeAt(0));
        const signer = path === "/enroll" ? {} : { agent };
        const answer = await world.client.send({ path, body, ...signer });
        assert.ok(answer.status === 400 || answer.status === 404, `${path} ${text.slice(0, 20)}`);
      }
    }
  }));

/** Puts `value` at one of the places in `document`. */
function mutate(document: JsonValue, at: number, value: JsonValue): JsonValue {
  const copy = structuredClone(document) as Record<string, JsonValue>;
  const places: [Record<string, JsonValue>, string][] = [];
  const walk = (node: JsonValue): void => {
    if (typeof node !== "object" || node === null) return;
    for (const key of Object.keys(node)) {
      const holder = node as Record<string, JsonValue>;
      places.push([holder, key]);
      walk(holder[key] ?? null);
    }
  };
  walk(copy);
  const [holder, key] = places[at % places.length] ?? [copy, "x"];
  holder[key] = value;
  return copy;
}

/** Sends bytes on a connection of their own and gives what comes back until it ends. */
async function converse(world: World, bytes: string): Promise<string> {
  const port = Number(new URL(world.running.url).port);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const encoded = Uint8Array.from(bytes, (character) => character.charCodeAt(0));
  try {
    for (let sent = 0; sent < encoded.length;) {
      sent += await connection.write(encoded.subarray(sent));
    }
    await connection.closeWrite();
    let text = "";
    for (const buffer = new Uint8Array(65_536);;) {
      const count = await connection.read(buffer);
      if (count === null) return text;
      text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    }
  } catch {
    // Reset in the middle of what was being sent: hung up on.
    return "";
  } finally {
    connection.close();
  }
}
