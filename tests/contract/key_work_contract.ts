import { ed25519, ED25519_TORSION_SUBGROUP } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import assert from "node:assert/strict";
import type { KeyWork } from "../../core/protocol/key_work.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { Secret } from "../../core/secret.ts";

/** What of {@link KeyWork} every agent and portal needs in each sync. */
export type SyncWork = Required<
  Pick<KeyWork, "sign" | "verify" | "hashBody" | "contentDigest">
>;

/** RFC 8032 §7.1, tests 1 to 3. */
const RFC_8032 = [
  {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    text: "",
    signature: "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555" +
      "fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    text: "72",
    signature: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da0" +
      "85ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  {
    seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    key: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    text: "af82",
    signature: "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac1" +
      "8ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
] as const;

/** FIPS 180-4's examples, and the body that RFC 9530 hashes (appendix A). */
const SHA_256 = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
] as const;
const RFC_9530 = {
  body: '{"hello": "world"}\n',
  digest: "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
};

const SEED = new Secret<Uint8Array>(new Uint8Array(32).fill(7));
const KEY = signingPublicKey(SEED);
const TEXT = Uint8Array.of(1, 2, 3);
const { BASE, Fn } = ed25519.Point;
const PRIME = 2n ** 255n - 19n;

/**
 * Registers the contract of the key work of a sync for one way to compute it. They all have to give the same
 * verdicts, whatever a portal sends: which one an agent uses depends on its runtime.
 */
export function keyWorkContract(subject: string, make: () => SyncWork): void {
  Deno.test(`${subject}: signs and verifies the vectors of RFC 8032`, async () => {
    const work = make();
    for (const { seed, key, text, signature } of RFC_8032) {
      const secret = new Secret(hexToBytes(seed));
      // Twice: the second time with keys that are ready.
      for (let time = 0; time < 2; time++) {
        assert.deepEqual(await work.sign(secret, hexToBytes(text)), hexToBytes(signature));
        const signed = [hexToBytes(key), hexToBytes(signature), hexToBytes(text)] as const;
        assert.equal(await work.verify(...signed), true);
      }
    }
  });

  Deno.test(`${subject}: hashes the examples of FIPS 180-4 and of RFC 9530`, async () => {
    const work = make();
    for (const [text, hash] of SHA_256) assert.equal(await work.hashBody(utf8ToBytes(text)), hash);
    assert.equal(await work.contentDigest(utf8ToBytes(RFC_9530.body)), RFC_9530.digest);
  });

  Deno.test(`${subject}: reads a part of a buffer, and leaves it as it is`, async () => {
    const work = make();
    const whole = concatBytes(TEXT, KEY, await sign(SEED, TEXT), TEXT);
    const before = whole.slice();
    const [key, signature] = [whole.subarray(3, 35), whole.subarray(35, 99)];
    assert.equal(await work.verify(key, signature, whole.subarray(99)), true);
    assert.equal(await work.hashBody(whole.subarray(99)), await work.hashBody(TEXT));
    assert.deepEqual(await work.sign(SEED, whole.subarray(0, 3)), signature);
    assert.deepEqual(whole, before);
  });

  Deno.test(`${subject}: signs as JavaScript does, with any seed`, async () => {
    const work = make();
    const anything = fc.uint8Array({ minLength: 32, maxLength: 32 });
    await fc.assert(
      fc.asyncProperty(anything, fc.uint8Array(), async (raw, text) => {
        const seed = new Secret<Uint8Array>(raw);
        const signature = await work.sign(seed, text);
        assert.deepEqual(signature, sign(seed, text));
        assert.ok(await work.verify(signingPublicKey(seed), signature, text));
      }),
      { seed: 11, numRuns: 10 },
    );
  });

  Deno.test(`${subject}: another key, text or signature, or one of a wrong length, is a plain no`, async () => {
    const { verify } = make();
    const signature = sign(SEED, TEXT);
    const [r, s] = [signature.subarray(0, 32), signature.subarray(32)];
    const identity = littleEndian(1n);
    const longer = (bytes: Uint8Array, by: number) => concatBytes(bytes, new Uint8Array(by));
    const cases: readonly (readonly [string, Uint8Array, Uint8Array, Uint8Array])[] = [
      ["another text", KEY, signature, Uint8Array.of(1, 2, 4)],
      ["no text", KEY, signature, new Uint8Array()],
      ["another key", signingPublicKey(new Secret(new Uint8Array(32).fill(8))), signature, TEXT],
      ["no key", new Uint8Array(), signature, TEXT],
      ["a short key", KEY.subarray(0, 31), signature, TEXT],
      ["a long key", longer(KEY, 1), signature, TEXT],
      ["a key that is twice a key", concatBytes(KEY, KEY), signature, TEXT],
      ["a key that is no point", littleEndian(2n), signature, TEXT],
      ["a key of zeros", new Uint8Array(32), new Uint8Array(64), TEXT],
      ["no signature", KEY, new Uint8Array(), TEXT],
      ["a short signature", KEY, signature.subarray(0, 63), TEXT],
      ["a long signature", KEY, longer(signature, 1), TEXT],
      ["a signature of zeros", KEY, new Uint8Array(64), TEXT],
      ["an R that is no point", KEY, concatBytes(littleEndian(2n), s), TEXT],
      ["an R in another form", KEY, concatBytes(littleEndian(PRIME + 1n), s), TEXT],
      ["S plus the order", KEY, concatBytes(r, littleEndian(numberOf(s) + Fn.ORDER)), TEXT],
      ["the identity", identity, concatBytes(identity, new Uint8Array(32)), TEXT],
    ];
    for (const [name, ...given] of cases) assert.equal(await verify(...given), false, name);
  });

  Deno.test(`${subject}: no key of small order signs anything, however it is written`, async () => {
    const { verify } = make();
    const ys = ED25519_TORSION_SUBGROUP.map((point) => numberOf(hexToBytes(point)) % 2n ** 255n);
    const ways = [...new Set([...ys, 0n, 1n].flatMap((y) => y < 19n ? [y, y + PRIME] : [y]))];
    const signature = concatBytes(littleEndian(1n), new Uint8Array(32));
    for (const key of ways.flatMap((way) => [way, way + 2n ** 255n])) {
      for (let text = 0; text < 16; text++) {
        const taken = await verify(littleEndian(key), signature, Uint8Array.of(text));
        assert.equal(taken, false, `${key} ${text}`);
      }
    }
  });

  // Whose equation has the cofactor takes some of these, whose has none takes others: here none takes any.
  Deno.test(`${subject}: a key or an R outside the group of prime order is refused`, async () => {
    const { verify } = make();
    for (const [ofKey, inKey] of ED25519_TORSION_SUBGROUP.entries()) {
      for (const [ofR, inR] of ED25519_TORSION_SUBGROUP.entries()) {
        for (let text = 0; text < 4; text++) {
          const signed = withTorsion(inKey, inR, Uint8Array.of(text));
          const expected = isIdentity(inKey) && isIdentity(inR);
          assert.equal(await verify(...signed), expected, `${ofKey} ${ofR} ${text}`);
        }
      }
    }
  });
}

/** A key and a signature for which 8SB = 8R + 8kA holds, with a point of small order in the key and in R. */
function withTorsion(inKey: string, inR: string, text: Uint8Array) {
  const [secret, nonce] = [12_345n, 67_890n];
  const key = BASE.multiply(secret).add(ed25519.Point.fromHex(inKey)).toBytes();
  const r = BASE.multiply(nonce).add(ed25519.Point.fromHex(inR)).toBytes();
  const k = Fn.create(numberOf(sha512(concatBytes(r, key, text))));
  const s = littleEndian(Fn.add(nonce, Fn.mul(k, secret)));
  return [key, concatBytes(r, s), text] as const;
}

function isIdentity(point: string): boolean {
  return ed25519.Point.fromHex(point).is0();
}

function numberOf(all: Uint8Array): bigint {
  return all.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number((value >> BigInt(8 * at)) & 255n));
}
