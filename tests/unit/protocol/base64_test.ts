import assert from "node:assert/strict";
import fc from "fast-check";
import { decodeBase64, encodeBase64 } from "../../../core/protocol/base64.ts";

Deno.test("encodeBase64: is the platform's own encoding, and decodeBase64 its inverse", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = encodeBase64(bytes);
      assert.equal(text, btoa(String.fromCharCode(...bytes)));
      assert.deepEqual(decodeBase64(text), bytes);
    }),
    { seed: 20260304, numRuns: 300 },
  );
});

Deno.test("decodeBase64: takes a text only if its bytes have exactly that text", () => {
  const refused = [
    "QQ",
    "QQ=",
    "QQ===",
    "QR==",
    "QUF=",
    "Q===",
    "====",
    "QQ==\n",
    " QQ==",
    "Q Q==",
    "-_-_",
  ];
  for (const text of refused) assert.equal(decodeBase64(text), null, JSON.stringify(text));
  assert.deepEqual(decodeBase64(""), new Uint8Array());
});

Deno.test("decodeBase64: any text gets an answer, and a taken one is the bytes' own text", () => {
  const alphabet = fc.constantFrom("A", "Q", "/", "+", "=", "-", " ", "\n", "é");
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 12 }).map((parts) => parts.join("")), (text) => {
      const bytes = decodeBase64(text);
      if (bytes !== null) assert.equal(encodeBase64(bytes), text);
    }),
    { seed: 20260305, numRuns: 2000 },
  );
});
