import assert from "node:assert/strict";
import fc from "fast-check";
import { readAnswer } from "../../../../simulate/fleet/answer_reader.ts";

/** Gives a text in pieces that end at these places. */
function pieces(text: string, cuts: readonly number[] = []) {
  const bytes = new TextEncoder().encode(text);
  const ends = [...new Set(cuts.map((cut) => cut % bytes.length)), bytes.length].sort((a, b) =>
    a - b
  );
  let from = 0;
  return () => {
    const to = ends.shift();
    if (to === undefined) return Promise.resolve(null);
    const piece = bytes.subarray(from, to);
    from = to;
    return Promise.resolve(piece);
  };
}

async function read(text: string, { maxBytes = 1000, cuts = [] as readonly number[] } = {}) {
  const answer = await readAnswer(pieces(text, cuts), maxBytes);
  if (typeof answer === "string") return answer;
  const { status, keepAlive, body } = answer;
  return { status, keepAlive, body: new TextDecoder().decode(body) };
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n";

Deno.test("readAnswer: a body by its length or in chunks, however the bytes come", async () => {
  const sized = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\nX: y\r\n\r\nabc";
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: 500 })), async (cuts) => {
      assert.deepEqual(await read(sized, { cuts }), { status: 404, keepAlive: true, body: "abc" });
      assert.deepEqual(await read(CHUNKED, { cuts }), {
        status: 200,
        keepAlive: true,
        body: "hello world",
      });
    }),
    { seed: 2, numRuns: 50 },
  );
});

Deno.test("readAnswer: an interim answer is passed over, a body without length goes on to the end", async () => {
  const interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
  assert.deepEqual(await read(interim), { status: 204, keepAlive: true, body: "" });
  const endless = "HTTP/1.0 200 OK\r\n\r\nuntil the end";
  assert.deepEqual(await read(endless), { status: 200, keepAlive: false, body: "until the end" });
});

Deno.test("readAnswer: a connection that is to close, or that brings more, carries no other request", async () => {
  const close = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
  assert.deepEqual(await read(close), { status: 200, keepAlive: false, body: "" });
  const more = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab";
  assert.deepEqual(await read(more), { status: 200, keepAlive: false, body: "a" });
});

for (
  const [text, outcome] of [
    ["", "cut"],
    ["SSH-2.0-OpenSSH\r\n\r\n", "cut"],
    ["HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "cut"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "cut"],
    ["HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", "cut"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "cut"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "cut"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab", "cut"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", "too_large"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", "too_large"],
    [`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(1001)}`, "too_large"],
  ] as const
) {
  Deno.test(`readAnswer: ${outcome} for ${JSON.stringify(text.slice(0, 60))}`, async () => {
    assert.equal(await read(text), outcome);
  });
}
