import assert from "node:assert/strict";
import { createNativeSigning } from "../../adapters/native_signing.ts";
import { createNodeSign } from "../../adapters/node/sign.ts";
import { type Sign, sign } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";

const signers: readonly (readonly [string, Sign])[] = [
  ["in JavaScript", sign],
  ["node", createNodeSign()],
  ["native", createNativeSigning().sign],
];

for (const [name, signer] of signers) {
  Deno.test(`sign (${name}): the vector of RFC 8032, 7.1, test 3`, async () => {
    const seed = new Secret(
      hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"),
    );
    const expected = "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac" +
      "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";
    // Twice: the second time with a key that is ready.
    for (let time = 0; time < 2; time++) {
      assert.deepEqual(await signer(seed, hex("af82")), hex(expected));
    }
  });

  Deno.test(`sign (${name}): another seed is another key`, async () => {
    const text = new Uint8Array([1]);
    const one = await signer(new Secret(new Uint8Array(32).fill(1)), text);
    const other = await signer(new Secret(new Uint8Array(32).fill(2)), text);
    assert.notDeepEqual(one, other);
  });
}

function hex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
}
