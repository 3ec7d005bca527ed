import assert from "node:assert/strict";
import fc from "fast-check";
import { Secret } from "../../../../core/secret.ts";
import { signingPublicKey } from "../../../../core/protocol/signing.ts";
import { createCheapSigning } from "../../../../simulate/virtual/cheap_signing.ts";

const seed = new Secret(new Uint8Array(32).fill(1));
const key = signingPublicKey(seed);
const stranger = signingPublicKey(new Secret(new Uint8Array(32).fill(2)));

Deno.test("createCheapSigning: a signature is its key's over its text, and of no other", () => {
  const { sign, verify, hashBody } = createCheapSigning(signingPublicKey);
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 200 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (bytes, where, change) => {
        const changed = bytes.slice();
        changed[where % bytes.length] = (bytes[where % bytes.length] ?? 0) ^ change;
        const signature = sign(seed, bytes);
        assert.ok(verify(key, signature, bytes));
        assert.ok(!verify(stranger, signature, bytes));
        assert.ok(!verify(key, signature, changed));
        assert.ok(!verify(key, signature, bytes.subarray(1)));
        assert.equal(hashBody(bytes), hashBody(bytes.slice()));
        assert.notEqual(hashBody(bytes), hashBody(changed));
        assert.match(hashBody(bytes), /^[0-9]+-[0-9]+$/);
      },
    ),
    { seed: 20260306, numRuns: 300 },
  );
});
