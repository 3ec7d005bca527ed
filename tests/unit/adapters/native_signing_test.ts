import { ED25519_TORSION_SUBGROUP } from "@noble/curves/ed25519.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import assert from "node:assert/strict";
import fc from "fast-check";
import { createNativeSigning } from "../../../adapters/native_signing.ts";
import { sign, signingPublicKey, verify } from "../../../core/protocol/signing.ts";
import { Secret } from "../../../core/secret.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });

Deno.test("native signing: the same signatures as in JavaScript, and each takes the other's", () => {
  const native = createNativeSigning();
  fc.assert(
    fc.property(bytes(32), fc.uint8Array(), (raw, text) => {
      const seed = new Secret<Uint8Array>(raw);
      const signature = native.sign(seed, text);
      assert.deepEqual(signature, sign(seed, text));
      assert.ok(native.verify(signingPublicKey(seed), signature, text));
      assert.deepEqual(native.publicKey(seed), signingPublicKey(seed));
    }),
    { seed: 11, numRuns: 25 },
  );
});

Deno.test("native signing: takes no other signature, key or text, as in JavaScript", () => {
  const native = createNativeSigning();
  const seed = new Secret<Uint8Array>(new Uint8Array(32).fill(7));
  const key = signingPublicKey(seed);
  const text = new Uint8Array([1, 2, 3]);
  const signature = sign(seed, text);
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const second = littleEndian(numberOf(signature.subarray(32)) + order);
  const identity = littleEndian(1n);
  const cases: readonly (readonly [string, Uint8Array, Uint8Array, Uint8Array])[] = [
    ["another text", key, signature, new Uint8Array([1, 2, 4])],
    ["S plus the order", key, joined(signature.subarray(0, 32), second), text],
    ["the identity", identity, joined(identity, new Uint8Array(32)), text],
    ["a key of zeros", new Uint8Array(32), new Uint8Array(64), text],
    ["no point", littleEndian(2n), signature, text],
    ["a short key", key.subarray(0, 31), signature, text],
    ["a short signature", key, signature.subarray(0, 63), text],
    ["another key", signingPublicKey(new Secret(new Uint8Array(32).fill(8))), signature, text],
  ];
  for (const [name, ...given] of cases) {
    assert.equal(verify(...given), false, name);
    assert.equal(native.verify(...given), false, name);
  }
});

Deno.test("native signing: no key of a small order signs anything, however it is written", () => {
  const native = createNativeSigning();
  const prime = 2n ** 255n - 19n;
  const signs = [0n, 2n ** 255n];
  const ys = ED25519_TORSION_SUBGROUP.map((point) => numberOf(hexToBytes(point)) % 2n ** 255n);
  const ways = [...new Set([...ys, 0n, 1n].flatMap((y) => y < 19n ? [y, y + prime] : [y]))];
  const signature = joined(littleEndian(1n), new Uint8Array(32));
  for (const way of ways) {
    for (const sign of signs) {
      for (let text = 0; text < 16; text++) {
        const taken = native.verify(littleEndian(way + sign), signature, new Uint8Array([text]));
        assert.equal(taken, false, `${way} ${sign} ${text}`);
      }
    }
  }
});

function numberOf(all: Uint8Array): bigint {
  return all.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  return new Uint8Array([...one, ...other]);
}
