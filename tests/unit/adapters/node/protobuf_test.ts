import assert from "node:assert/strict";
import fc from "fast-check";
import { numberIn, numberMessage } from "../../../../adapters/node/protobuf.ts";
import { parseMembers } from "../../../../adapters/node/servers.ts";

Deno.test("numberMessage: as protoc encodes it", () => {
  assert.deepEqual(numberMessage(1, 0n), new Uint8Array([0x08, 0]));
  assert.deepEqual(numberMessage(1, 150n), new Uint8Array([0x08, 0x96, 0x01]));
  assert.deepEqual(
    numberMessage(1, 2n ** 64n - 1n),
    new Uint8Array([0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
  );
});

Deno.test("numberIn: finds what numberMessage wrote, behind fields of every other kind", () => {
  const before = [0x0a, 2, 0x20, 0x05, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4];
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), (value) => {
      const message = new Uint8Array([...before, ...numberMessage(4, value)]);
      assert.equal(numberIn(message, 4), value);
      assert.equal(numberIn(message, 9), 0n);
    }),
    { seed: 7, numRuns: 100 },
  );
  assert.equal(numberIn(new Uint8Array(before), 4), 0n);
});

Deno.test("numberIn: what is cut or no message is none", () => {
  for (const bytes of [[0x08], [0x0a, 5, 1], [0x0b], [0x08, 0x80], [0x11, 1]]) {
    assert.equal(numberIn(new Uint8Array(bytes), 4), null, String(bytes));
  }
});

Deno.test("parseMembers: IDs keep every digit, and what is no list of members is none", () => {
  const text = '{"members":[{"ID":17889244515196728285,"name":"demo-1-1533377b",' +
    '"clientURLs":["https://10.0.0.1:2379","no url"]},{"ID":5,"isLearner":true}]}';
  assert.deepEqual(parseMembers(text), [
    {
      id: "17889244515196728285",
      name: "demo-1-1533377b",
      clientUrls: ["https://10.0.0.1:2379"],
      isLearner: false,
    },
    { id: "5", name: "", clientUrls: [], isLearner: true },
  ]);
  for (const none of ["", "[]", "{}", '{"members":[]}', '{"members":[{"name":"x"}]}']) {
    assert.equal(parseMembers(none), null, none);
  }
});
