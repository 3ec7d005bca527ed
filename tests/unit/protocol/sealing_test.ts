import assert from "node:assert/strict";
import sodium from "libsodium-wrappers";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import {
  openSealed,
  seal,
  type SealingKey,
  sealingPublicKey,
} from "../../../core/protocol/sealing.ts";
import { Secret } from "../../../core/secret.ts";
import { present } from "../../present.ts";
import { bytesFromBase64 } from "../../../fixtures/source/material.ts";
import vectors from "../../../fixtures/vectors/sealing.json" with { type: "json" };

await sodium.ready;

const secretKey = new Secret<Uint8Array>(bytesFromBase64(vectors.secret_key));
const publicKey = bytesFromBase64(vectors.public_key);
const OURS: SealingKey = { secretKey, publicKey };
const OTHER: SealingKey = keyOf(Uint8Array.from({ length: 32 }, (_, index) => index));

function keyOf(secret: Uint8Array): SealingKey {
  const wrapped = new Secret(secret);
  return { secretKey: wrapped, publicKey: sealingPublicKey(wrapped) };
}

function opened(box: string, keys: readonly SealingKey[]): string {
  const result = openSealed(box, keys);
  assert.ok(result.ok);
  return result.value.reveal();
}

Deno.test("sealingPublicKey: the vector's key, and libsodium's", () => {
  assert.equal(encodeBase64(sealingPublicKey(secretKey)), vectors.public_key);
  assert.deepEqual(sodium.crypto_scalarmult_base(secretKey.reveal()), publicKey);
});

Deno.test("seal: makes every vector's box, and libsodium opens it", () => {
  for (const { name, plaintext, ephemeral_secret, box } of vectors.opened) {
    const text = new TextEncoder().encode(plaintext);
    assert.equal(seal(text, publicKey, bytesFromBase64(ephemeral_secret)), box, name);
    const theirs = sodium.crypto_box_seal_open(bytesFromBase64(box), publicKey, secretKey.reveal());
    assert.deepEqual(new Uint8Array(theirs), text, name);
  }
});

Deno.test("openSealed: opens every vector, and what libsodium seals", () => {
  for (const { name, plaintext, box } of vectors.opened) {
    assert.equal(opened(box, [OURS]), plaintext, name);
    const theirs = encodeBase64(sodium.crypto_box_seal(plaintext, publicKey));
    assert.equal(opened(theirs, [OURS]), plaintext, name);
  }
});

Deno.test("openSealed: tries each key, so both pairs of a rotation open", () => {
  const box = present(vectors.opened[0]).box;
  assert.equal(opened(box, [OTHER, OURS]), present(vectors.opened[0]).plaintext);
  assert.equal(opened(box, [OURS, OTHER]), present(vectors.opened[0]).plaintext);
});

Deno.test("openSealed: refuses every bad vector with the code of protocol §2", () => {
  for (const { name, box } of vectors.refused) {
    const result = openSealed(box, [OURS]);
    assert.ok(!result.ok, name);
    assert.equal(result.error.code, "undecryptable_secret", name);
    assert.match(result.error.message, /^the sealed box (is|opens|holds) /, name);
  }
});

Deno.test("openSealed: says what is wrong with a box, where that can be known", () => {
  const messages = new Map(vectors.refused.map(({ name, box }) => {
    const result = openSealed(box, [OURS]);
    return [name, result.ok ? "" : result.error.message];
  }));
  assert.match(present(messages.get("47 bytes")), /is 47 bytes long, a sealed box has at least 48/);
  assert.match(present(messages.get("stray bits in the last character")), /no standard base64/);
  assert.match(present(messages.get("a line end")), /no standard base64/);
  assert.match(present(messages.get("a text that is no UTF-8")), /no UTF-8/);
  assert.match(present(messages.get("sealed to another key")), /none of this agent's keys/);
});

Deno.test("openSealed: opens nothing without a key", () => {
  const result = openSealed(present(vectors.opened[0]).box, []);
  assert.equal(result.ok, false);
});

Deno.test("openSealed: what it opens prints as [secret]", () => {
  const result = openSealed(present(vectors.opened[0]).box, [OURS]);
  assert.ok(result.ok);
  assert.equal(`${result.value} ${JSON.stringify(result.value)}`, '[secret] "[secret]"');
});
