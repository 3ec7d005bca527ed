import assert from "node:assert/strict";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { hexToBytes } from "@noble/hashes/utils.js";
import sodium from "libsodium-wrappers";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import { accessIssue } from "../../../core/operations/access_issue.ts";
import { diagCollect } from "../../../core/operations/diag_collect.ts";
import { encodeBase64 } from "../../../core/protocol/base64.ts";
import { isEd25519PublicKey, isX25519PublicKey } from "../../../core/protocol/public_key_check.ts";
import { parseBuildOptions } from "../../../cli/build/options.ts";

await sodium.ready;

const PRIME = 2n ** 255n - 19n;

/** 32 bytes, the lowest first. */
function littleEndian(number: bigint): Uint8Array {
  return hexToBytes(number.toString(16).padStart(64, "0")).reverse();
}

/** The u coordinates of small order. */
const SMALL_U = [
  0n,
  1n,
  325606250916557431795983626356110631294008115727848805560023387167927233504n,
  39382357235489614581723060781553021112529911719440698176882885853963445705823n,
  PRIME - 1n,
];

/** Every spelling that has 32 bytes, with the bit set that X25519 does not look at and without. */
const SMALL_KEYS = SMALL_U.flatMap((u) => [u, u + PRIME])
  .filter((u) => u < 2n ** 255n)
  .flatMap((u) => [littleEndian(u), littleEndian(u + 2n ** 255n)]);

/** More spellings of them, for programs that look at all 256 bits (cr.yp.to/ecdh.html). */
const OF_256_BITS = [2n * PRIME - 1n, 2n * PRIME, 2n * PRIME + 1n].map(littleEndian);

Deno.test("isX25519PublicKey: refuses every spelling of a key of small order", () => {
  assert.ok(SMALL_KEYS.length === 14);
  for (const key of OF_256_BITS) assert.equal(isX25519PublicKey(key), false, encodeBase64(key));
  for (const key of SMALL_KEYS) {
    assert.equal(isX25519PublicKey(key), false, encodeBase64(key));
    // They are what they are said to be: the shared secret is the same for everybody.
    assert.throws(() => sodium.crypto_scalarmult(new Uint8Array(32).fill(77), key));
  }
});

Deno.test("isX25519PublicKey: refuses a second spelling of any key, and another length", () => {
  const key = x25519.getPublicKey(new Uint8Array(32).fill(7));
  assert.ok(isX25519PublicKey(key));
  const highBit = Uint8Array.from(key);
  highBit[31] = (key[31] ?? 0) | 0x80;
  assert.equal(isX25519PublicKey(highBit), false);
  for (let beyond = 0n; beyond < 19n; beyond++) {
    assert.equal(isX25519PublicKey(littleEndian(PRIME + beyond)), false);
  }
  assert.ok(isX25519PublicKey(littleEndian(PRIME - 2n)));
  assert.equal(isX25519PublicKey(key.subarray(1)), false);
  assert.equal(isX25519PublicKey(new Uint8Array(33)), false);
});

Deno.test("isX25519PublicKey, isEd25519PublicKey: take every key that is made", () => {
  const random = createFakeRandom(11);
  for (let time = 0; time < 200; time++) {
    const seed = random.bytes(32);
    assert.ok(isX25519PublicKey(x25519.getPublicKey(seed)));
    assert.ok(isEd25519PublicKey(ed25519.getPublicKey(seed)));
  }
});

Deno.test("isEd25519PublicKey: refuses the points of small order, and second spellings", () => {
  const generator = "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05";
  const eighth = ed25519.Point.fromHex(generator);
  let point = ed25519.Point.ZERO;
  const seen = new Set<string>();
  for (let time = 0; time < 8; time++) {
    seen.add(point.toHex());
    const bytes = point.toBytes();
    assert.equal(isEd25519PublicKey(bytes), false, point.toHex());
    const otherSign = Uint8Array.from(bytes);
    otherSign[31] = (bytes[31] ?? 0) ^ 0x80;
    assert.equal(isEd25519PublicKey(otherSign), false);
    point = point.add(eighth);
  }
  assert.equal(seen.size, 8);
  for (const number of [PRIME, PRIME + 1n, PRIME + 18n, PRIME + 2n ** 255n]) {
    assert.equal(isEd25519PublicKey(littleEndian(number)), false);
  }
});

Deno.test("recipient: a key that anyone could open the box of is a wrong parameter, by name", () => {
  const consent = { by: "ada", at: "2026-01-01T12:00:00Z" };
  const access = { person: "ada", role: "view", lifetime_s: 600 };
  for (const key of [...SMALL_KEYS, littleEndian(PRIME + 2n)]) {
    const recipient = encodeBase64(key);
    for (
      const parsed of [
        accessIssue.params.safeParse({ ...access, recipient }),
        diagCollect.params.safeParse({ consent, recipient }),
      ]
    ) {
      assert.ok(!parsed.success, recipient);
      assert.deepEqual(parsed.error.issues.map(({ path }) => path), [["recipient"]]);
      assert.match(parsed.error.issues[0]?.message ?? "", /small order/);
    }
  }
  const recipient = encodeBase64(x25519.getPublicKey(new Uint8Array(32).fill(9)));
  assert.ok(accessIssue.params.safeParse({ ...access, recipient }).success);
});

Deno.test("build: a release key of small order is refused", () => {
  const good = encodeBase64(ed25519.getPublicKey(new Uint8Array(32).fill(1)));
  for (const number of [0n, 1n, PRIME - 1n, PRIME, 2n ** 255n + 1n]) {
    const bad = encodeBase64(littleEndian(number));
    const parsed = parseBuildOptions(["--release-key", good, "--release-key", bad]);
    assert.match(parsed.ok ? "taken" : parsed.error, /small order/);
  }
});
