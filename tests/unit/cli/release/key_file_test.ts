import assert from "node:assert/strict";
import { type KeyFile, openKey, parseKeyFile, sealKey } from "../../../../cli/release/key_file.ts";
import { Secret } from "../../../../core/secret.ts";

/** Cheap: what guards a real file is not what is tested. */
const COST = 2;
const SEED = new Secret(Uint8Array.from({ length: 32 }, (_, at) => at));
const PASSPHRASE = new Secret("a passphrase for tests");

async function sealed(): Promise<KeyFile> {
  const file = await sealKey(SEED, PASSPHRASE, COST);
  assert.ok(file.ok);
  return file.value;
}

Deno.test("sealKey: what it seals opens with the passphrase, after a trip through text", async () => {
  const file = parseKeyFile(JSON.stringify(await sealed()));
  assert.ok(file.ok);
  const seed = await openKey(file.value, PASSPHRASE);
  assert.ok(seed.ok);
  assert.deepEqual(seed.value.reveal(), SEED.reveal());
});

Deno.test("sealKey: no two files are alike, none holds the seed, short passphrases are refused", async () => {
  const [one, other] = [await sealed(), await sealed()];
  assert.notEqual(one.sealed_seed, other.sealed_seed);
  assert.notEqual(one.scrypt.salt, other.scrypt.salt);
  const seed = btoa(String.fromCharCode(...SEED.reveal()));
  assert.ok(!JSON.stringify(one).includes(seed.slice(0, 40)));
  assert.equal((await sealKey(SEED, new Secret("elevenchars"), COST)).ok, false);
});

Deno.test("openKey: refuses another passphrase and any altered part", async () => {
  const file = await sealed();
  const other = await sealKey(new Secret(new Uint8Array(32)), PASSPHRASE, COST);
  assert.ok(other.ok);
  assert.equal((await openKey(file, new Secret("a passphrase for Tests"))).ok, false);
  const altered: readonly KeyFile[] = [
    { ...file, public_key: other.value.public_key },
    { ...file, key_id: other.value.key_id },
    { ...file, nonce: other.value.nonce },
    { ...file, sealed_seed: other.value.sealed_seed },
    { ...file, scrypt: { ...file.scrypt, salt: other.value.scrypt.salt } },
    { ...file, scrypt: { ...file.scrypt, n: 4 } },
    { ...file, nonce: "AAAA" },
  ];
  for (const each of altered) {
    assert.equal((await openKey(each, PASSPHRASE)).ok, false, JSON.stringify(each));
  }
});

Deno.test("parseKeyFile: refuses other formats and costs that would take the memory", async () => {
  const file = await sealed();
  const bad: readonly unknown[] = [
    ...[null, {}, [], { ...file, format: 2 }, { ...file, sealed_seed: 1 }, { ...file, scrypt: {} }],
    ...[2 ** 21, 3, 1, 2.5, "2"].map((n) => ({ ...file, scrypt: { ...file.scrypt, n } })),
    { ...file, scrypt: { ...file.scrypt, r: 4096 } },
  ];
  for (const each of bad) {
    assert.equal(parseKeyFile(JSON.stringify(each)).ok, false, JSON.stringify(each));
  }
  assert.equal(parseKeyFile("{").ok, false);
});
