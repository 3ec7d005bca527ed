import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { programName } from "../../cli/build/program_name.ts";
import type { Ask } from "../../cli/release/ask.ts";
import { keygen } from "../../cli/release/keygen.ts";
import { rotate } from "../../cli/release/rotate.ts";
import { signRelease } from "../../cli/release/sign.ts";
import { openSigningKey } from "../../cli/release/signing_key.ts";
import { verifyManifest } from "../../cli/release/verify.ts";
import { VERSION } from "../../cli/version.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import type { Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";

const COST = 2;
const NOW = "2026-01-01T00:00:00Z";
const PASSPHRASE = "a passphrase for tests";
const PROGRAM = programName(VERSION, "amd64");

/** A person who answers every question with the same passphrase. */
function asking(answer = PASSPHRASE): Ask {
  const secret = () => Promise.resolve(new Secret(answer));
  return { secret, newSecret: secret };
}

function must<T>(result: Result<T, string>): T {
  assert.ok(result.ok, JSON.stringify(result));
  return result.value;
}

interface Desk {
  readonly dir: string;
  /** Signs version `version` with keys of that name; `change` alters the description. */
  sign(version: string, keys: readonly string[], change?: object): Promise<Result<unknown, string>>;
  /** Checks what was signed last with public keys. */
  verify(version: string, publicKeys: readonly string[]): Promise<Result<unknown, string>>;
}

/** A folder with a built program and an image. */
async function atDesk(work: (desk: Desk) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "pbx-release-" });
  const program = new TextEncoder().encode("the program");
  await Deno.mkdir(`${dir}/dist`);
  await Deno.writeFile(`${dir}/dist/${PROGRAM}`, program);
  await Deno.writeFile(`${dir}/dist/${PROGRAM}.gz`, new Uint8Array(gzipSync(program)));
  await Deno.writeTextFile(`${dir}/node.efi`, "the image");
  const image = { file: "node.efi", url: "https://dl.example.com/node.efi" };
  const out = `${dir}/manifest.json`;
  try {
    await work({
      dir,
      sign: async (version, names, change = {}) => {
        const description = `${dir}/description.json`;
        const whole = {
          version,
          created_at: NOW,
          agent: { url: "https://dl.example.com/pbx/" },
          image: { k3s_version: "v1.34.1+k3s1", artifacts: { amd64: image } },
          addons: {},
          ...change,
        };
        await Deno.writeTextFile(description, JSON.stringify(whole));
        const keys = [];
        for (const name of names) {
          keys.push(must(await openSigningKey(asking(), `${dir}/${name}`)));
        }
        return await signRelease({ description, dist: `${dir}/dist`, out, keys, now: NOW });
      },
      verify: async (version, texts) => {
        const publicKeys = texts.map((text) => decodeBase64(text) ?? new Uint8Array());
        return await verifyManifest({ manifest: out, version, publicKeys, dist: `${dir}/dist` });
      },
    });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function makeKey(desk: Desk, name: string): Promise<string> {
  return must(await keygen(asking(), `${desk.dir}/${name}`, COST)).public_key;
}

Deno.test("release: what is signed verifies with that key, holds the artifacts' hashes, and no other", async () => {
  await atDesk(async (desk) => {
    const [key, other] = [await makeKey(desk, "a"), await makeKey(desk, "b")];
    const release = must(await desk.sign("1.0.0", ["a"])) as {
      agent: { artifacts: Record<string, object> };
    };
    assert.deepEqual(release.agent.artifacts["amd64"], {
      url: `https://dl.example.com/pbx/${PROGRAM}.gz`,
      // sha256sum of "the program"
      sha256: "50fda23bf0a5115d4f893dc10d122c10a4705f47688f5620e80611c092d4053e",
      size: 11,
      encoding: "gzip",
      encoded_size: (await Deno.stat(`${desk.dir}/dist/${PROGRAM}.gz`)).size,
    });
    must(await desk.verify("1.0.0", [key]));
    assert.equal((await desk.verify("1.0.0", [other])).ok, false);
    assert.equal((await desk.verify("1.0.1", [key])).ok, false);
    await Deno.writeTextFile(`${desk.dir}/dist/${PROGRAM}`, "the Program");
    assert.equal((await desk.verify("1.0.0", [key])).ok, false, "another program");
  });
});

Deno.test("release: a version lower than the last is not signed, and the last manifest stays", async () => {
  await atDesk(async (desk) => {
    const key = await makeKey(desk, "a");
    must(await desk.sign("1.1.0", ["a"]));
    const lower = await desk.sign("1.0.9", ["a"]);
    assert.ok(!lower.ok && lower.error.includes("1.0.9 is lower than 1.1.0"));
    must(await desk.verify("1.1.0", [key]));
    must(await desk.sign("1.2.0", ["a"]));
  });
});

Deno.test("release: hashes are made, never taken from the description", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const artifact = { file: "node.efi", url: "https://dl.example.com/n" };
    const refused = {
      "made of the file": { ...artifact, sha256: "0".repeat(64) },
      "cannot be hashed": { ...artifact, file: "gone.efi" },
      "names no file": { url: artifact.url },
      "is not the gzip": { ...artifact, gzip_file: `dist/${PROGRAM}.gz` },
      "has 'sise'": { ...artifact, sise: 1 },
    };
    for (const [why, amd64] of Object.entries(refused)) {
      const image = { k3s_version: "v1", artifacts: { amd64 } };
      const signed = await desk.sign("1.0.0", ["a"], { image });
      assert.ok(!signed.ok && signed.error.includes(why), `${why}: ${JSON.stringify(signed)}`);
    }
    const noHttps = await desk.sign("1.0.0", ["a"], { agent: { url: "http://dl.example.com" } });
    assert.ok(!noHttps.ok && noHttps.error.includes("https"));
    await Deno.writeTextFile(`${desk.dir}/dist/${PROGRAM}.gz`, "no gzip");
    assert.equal((await desk.sign("1.0.0", ["a"])).ok, false);
    assert.equal(await Deno.stat(`${desk.dir}/a.ledger.json`).catch(() => null), null);
  });
});

Deno.test("release: a rotation keeps one key, makes one, and ends the third", async () => {
  await atDesk(async (desk) => {
    const [kept] = [await makeKey(desk, "a"), await makeKey(desk, "b")];
    must(await desk.sign("1.0.0", ["a", "b"]));
    const request = { keep: `${desk.dir}/a`, replace: `${desk.dir}/b`, out: `${desk.dir}/c` };
    const { made } = must(await rotate(asking(), { ...request, now: NOW }, COST));

    const ended = await desk.sign("1.1.0", ["b"]);
    assert.ok(!ended.ok && ended.error.includes(`replaced by ${made.key_id}`));
    const lower = await desk.sign("0.9.0", ["c"]);
    assert.equal(lower.ok, false, "the new key knows how far releases have come");
    must(await desk.sign("1.1.0", ["a", "c"]));
    must(await desk.verify("1.1.0", [kept]));
    must(await desk.verify("1.1.0", [made.public_key]));
    const again = await rotate(asking(), { ...request, out: `${desk.dir}/d`, now: NOW }, COST);
    assert.equal(again.ok, false);
  });
});

Deno.test("release: key files are private, are never replaced, and open by their passphrase alone", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const path = `${desk.dir}/a`;
    assert.equal(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    assert.equal((await keygen(asking(), path, COST)).ok, false);
    assert.equal((await openSigningKey(asking("another passphrase"), path)).ok, false);
    await Deno.writeTextFile(`${path}.ledger.json`, "cut sho");
    const lost = await openSigningKey(asking(), path);
    assert.ok(!lost.ok && lost.error.includes("no ledger"), "a damaged ledger is no empty one");
  });
});

Deno.test("release: a private key from standard input needs a ledger of its own", async () => {
  const seed = asking(btoa("s".repeat(32)));
  const without = await openSigningKey(seed, "-");
  assert.ok(!without.ok && without.error.includes("--ledger"));
  const key = must(await openSigningKey(seed, "-", "/nowhere/ledger.json"));
  assert.equal(key.seed.reveal().length, 32);
  assert.equal((await openSigningKey(asking("short"), "-", "/nowhere/ledger.json")).ok, false);
});
