import assert from "node:assert/strict";
import fc from "fast-check";
import { createNativeSealing } from "../../../adapters/native_sealing.ts";
import { decodeBase64 } from "../../../core/protocol/base64.ts";
import { openSealed, seal, sealingPublicKey } from "../../../core/protocol/sealing.ts";
import { Secret } from "../../../core/secret.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

function pairOf(raw: Uint8Array) {
  const secretKey = new Secret<Uint8Array>(raw);
  return { secretKey, publicKey: sealingPublicKey(secretKey) };
}

Deno.test("native sealing: the same boxes as in JavaScript, and each opens the other's", () => {
  const native = createNativeSealing();
  fc.assert(
    fc.property(bytes(32), bytes(32), fc.string(), (raw, ephemeral, text) => {
      const key = pairOf(raw);
      const plain = new TextEncoder().encode(text);
      const box = native.seal(plain, key.publicKey, ephemeral);
      assert.equal(box, seal(plain, key.publicKey, ephemeral));
      assert.deepEqual(native.publicKey(key.secretKey), key.publicKey);
      for (const keys of [[key], [{ ...key, openBox: native.openBox }]]) {
        const opened = openSealed(box, keys);
        assert.ok(opened.ok && opened.value.reveal() === text);
      }
    }),
    { seed: 5, numRuns: 20 },
  );
});

Deno.test("native sealing: what was opened opens again, but nothing else does for that", () => {
  const native = createNativeSealing();
  const [key, other] = [pairOf(new Uint8Array(32).fill(3)), pairOf(new Uint8Array(32).fill(5))];
  const boxes = Array.from({ length: 40 }, (_, at) => {
    const ephemeral = new Uint8Array(32).fill(at + 1);
    return decodeBase64(native.seal(new Uint8Array([at]), key.publicKey, ephemeral));
  });
  for (const [at, box] of [...boxes.entries(), ...boxes.entries()]) {
    assert.ok(box !== null);
    for (let again = 0; again < 3; again++) {
      assert.deepEqual(native.openBox(box, key), new Uint8Array([at]));
      assert.equal(native.openBox(box, other), null);
      assert.equal(native.openBox(box.map((byte, on) => on === 40 ? byte ^ 1 : byte), key), null);
    }
  }
});

Deno.test("native sealing: a changed box, another key and no point do not open", () => {
  const native = createNativeSealing();
  const key = pairOf(new Uint8Array(32).fill(3));
  const plain = new TextEncoder().encode("text");
  const box = decodeBase64(seal(plain, key.publicKey, new Uint8Array(32).fill(4)));
  assert.ok(box !== null);
  for (const at of [0, 31, 32, 47, 48, box.length - 1]) {
    const changed = box.slice();
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.equal(native.openBox(changed, key), null, `byte ${at}`);
  }
  assert.equal(native.openBox(box, pairOf(new Uint8Array(32).fill(5))), null);
  const zeros = box.slice();
  zeros.fill(0, 0, 32);
  assert.equal(native.openBox(zeros, key), null);
});
