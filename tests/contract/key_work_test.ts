import assert from "node:assert/strict";
import { createNativeKeyWork } from "../../adapters/native_key_work.ts";
import { createNodeKeyWork } from "../../adapters/node/key_work.ts";
import { contentDigest } from "../../core/protocol/answer_signature.ts";
import { hashBody, sign, signingPublicKey, verifyInScript } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";
import { keyWorkContract } from "./key_work_contract.ts";

keyWorkContract("key work in JavaScript", () => ({
  sign,
  verify: verifyInScript,
  hashBody,
  contentDigest,
}));
keyWorkContract("key work of the node", createNodeKeyWork);
keyWorkContract(
  "key work of a node whose runtime has no such algorithm",
  () => createNodeKeyWork(failing("NotSupportedError")),
);
keyWorkContract("key work of fleets", createNativeKeyWork);

Deno.test("key work of fleets: derives the public keys that JavaScript does", () => {
  const { publicKeys } = createNativeKeyWork();
  for (const fill of [0, 1, 255]) {
    const seed = new Secret<Uint8Array>(new Uint8Array(32).fill(fill));
    assert.deepEqual(publicKeys.signing(seed), signingPublicKey(seed));
  }
});

Deno.test("key work of the node: a failure of the runtime is not taken for a missing algorithm", async () => {
  const work = createNodeKeyWork(failing("OperationError"));
  const seed = new Secret(new Uint8Array(32).fill(1));
  const given = [signingPublicKey(seed), sign(seed, new Uint8Array()), new Uint8Array()] as const;
  await assert.rejects(
    async () => await work.sign(seed, new Uint8Array()),
    named("OperationError"),
  );
  await assert.rejects(async () => await work.verify(...given), named("OperationError"));
  await assert.rejects(async () => await work.hashBody(new Uint8Array()), named("OperationError"));
});

function named(name: string) {
  return (error: unknown) => error instanceof DOMException && error.name === name;
}

/** A runtime's cryptography of which every call fails as `name`. */
function failing(name: string): SubtleCrypto {
  return new Proxy(crypto.subtle, {
    get: () => () => Promise.reject(new DOMException("not here", name)),
  });
}
