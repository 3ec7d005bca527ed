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
          keys.push(must(await openSigningKey(asking(), `${dir}/${name}`, { isNew: true })));
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

Deno.test("release: options that a portal could misuse are not signed, and nothing is entered", async () => {
  await atDesk(async (desk) => {
    const key = await makeKey(desk, "a");
    const withOption = (x: object, more: object = {}) => ({
      addons: {
        dns: {
          options: { x, ...more },
          objects: [{
            apiVersion: "helm.cattle.io/v1",
            kind: "HelmChart",
            metadata: { name: "dns" },
            spec: { chart: "dns", values: { x: { $eval: "options.x" } } },
          }],
        },
      },
    });
    const text = { type: "string" };
    const refused: readonly [object, RegExp][] = [
      [withOption(text), /not signed:\n {2}addons\.dns\.options\.x: a text without a limit/],
      [withOption({ type: "object" }), /addons\.dns\.options\.x: an object/],
      [
        withOption({ ...text, pattern: "^https://.*$" }, { key: { ...text, secret: true } }),
        /addons\.dns\.options\.x: can be a URL.*unlimited/,
      ],
      [
        withOption({ ...text, pattern: "[a-z]" }),
        /addons\.dns\.options\.x\.pattern: does not begin/,
      ],
      [withOption({ ...text, pattern: "^(?!a).*$" }), /options\.x\.pattern: has look-around/],
      [withOption({ ...text, pattern: "^(.)\\1$" }), /options\.x\.pattern: has a back-reference/],
      [withOption({ type: "number", minimum: 2, maximum: 1 }), /options\.x\.minimum: 2 is above/],
      [withOption({ type: "number", maxLength: 2 }), /options\.x\.maxLength: is not a limit/],
      [
        withOption({ ...text, enum: ["a"], default: "b" }),
        /options\.x\.default: breaks the limit enum/,
      ],
      [withOption({ ...text, maxlength: 5 }), /addons\.dns\.options\.x has 'maxlength'/],
    ];
    for (const [change, why] of refused) {
      const signed = await desk.sign("1.0.0", ["a"], change);
      assert.match(signed.ok ? "" : signed.error, why);
    }
    assert.equal(await Deno.stat(`${desk.dir}/a.ledger.json`).catch(() => null), null);
    const limited = withOption({ ...text, pattern: "^[a-z]+$", maxLength: 9, default: "a" });
    must(await desk.sign("1.0.0", ["a"], limited));
    must(await desk.verify("1.0.0", [key]));
    must(await desk.sign("1.1.0", ["a"], withOption({ ...text, unlimited: true })));
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
    assert.equal(
      (await openSigningKey(asking("another passphrase"), path, { isNew: true })).ok,
      false,
    );
    await Deno.writeTextFile(`${path}.ledger.json`, "cut sho");
    const lost = await openSigningKey(asking(), path);
    assert.ok(!lost.ok && lost.error.includes("no ledger"), "a damaged ledger is no empty one");
  });
});

Deno.test("release: a private key from standard input needs a ledger of its own", async () => {
  const seed = asking(btoa("s".repeat(32)));
  const without = await openSigningKey(seed, "-");
  assert.ok(!without.ok && without.error.includes("--ledger"));
  const key = must(await openSigningKey(seed, "-", { file: "/nowhere/l.json", isNew: true }));
  assert.equal(key.seed.reveal().length, 32);
  assert.equal(
    (await openSigningKey(asking("short"), "-", { file: "/nowhere/l.json", isNew: true })).ok,
    false,
  );
});

Deno.test("release: the sequence rises with each release, over the ledgers of all keys", async () => {
  await atDesk(async (desk) => {
    const key = await makeKey(desk, "a");
    await makeKey(desk, "b");
    const sequence = async (version: string, names: readonly string[], change = {}) =>
      (must(await desk.sign(version, names, change)) as { sequence: number }).sequence;
    assert.equal(await sequence("1.0.0", ["a"]), 1);
    assert.equal(await sequence("1.1.0", ["a"], { sequence: 40 }), 40);
    assert.equal(await sequence("1.1.0", ["a"]), 40, "the same release, signed again");
    assert.equal(await sequence("1.2.0", ["a", "b"]), 41);
    assert.equal(await sequence("1.3.0", ["b"]), 42);
    for (const [named, says] of [[41, "not higher than 41"], [7, "not higher than 41"]] as const) {
      const signed = await desk.sign("1.4.0", ["a"], { sequence: named });
      assert.ok(!signed.ok && signed.error.includes(says), JSON.stringify(signed));
    }
    must(await desk.sign("1.4.0", ["a"]));
    must(await desk.verify("1.4.0", [key]));
  });
});

Deno.test("release: a minimum and an expiry that no agent could take are not signed", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const refused: Readonly<Record<string, object>> = {
      "minimum.sequence 6 is above": { sequence: 5, minimum: { sequence: 6 } },
      "minimum has 'version'": { minimum: { version: "1.0.0" } },
      "is not after created_at": { expires_at: NOW },
      "expires_at": { expires_at: "soon" },
      "sequence": { sequence: 1.5 },
    };
    for (const [says, change] of Object.entries(refused)) {
      const signed = await desk.sign("1.0.0", ["a"], change);
      assert.ok(!signed.ok && signed.error.includes(says), `${says}: ${JSON.stringify(signed)}`);
    }
    const age = { minimum: { sequence: 5 }, expires_at: "2027-01-01T00:00:00Z" };
    const release = must(await desk.sign("1.0.0", ["a"], { sequence: 5, ...age })) as object;
    assert.deepEqual({ ...release, ...age }, release);
  });
});

Deno.test("release: a key without its ledger signs nothing until it is told to begin one", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const lost = await openSigningKey(asking(), `${desk.dir}/a`);
    assert.ok(!lost.ok && lost.error.includes("a.ledger.json is missing"), JSON.stringify(lost));
    assert.ok(lost.error.includes("--new-ledger"));
    must(await desk.sign("1.0.0", ["a"]));
    const { ledger } = must(await openSigningKey(asking(), `${desk.dir}/a`));
    assert.deepEqual(ledger.signed.map(({ version, sequence }) => [version, sequence]), [[
      "1.0.0",
      1,
    ]]);
  });
});

Deno.test("release: a ledger from before sequences goes on with 1", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const signed = [{ version: "0.9.0", payload_sha256: "0".repeat(64), at: NOW }];
    await Deno.writeTextFile(`${desk.dir}/a.ledger.json`, JSON.stringify({ format: 1, signed }));
    const release = must(await desk.sign("1.0.0", ["a"])) as { sequence: number };
    assert.equal(release.sequence, 1);
  });
});

Deno.test("release: a key made by a rotation has no ledger where the kept one has none", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    await makeKey(desk, "b");
    const request = { keep: `${desk.dir}/a`, replace: `${desk.dir}/b`, out: `${desk.dir}/c` };
    must(await rotate(asking(), { ...request, now: NOW }, COST));
    assert.equal((await openSigningKey(asking(), `${desk.dir}/c`)).ok, false);
  });
});

Deno.test("release: first-start manifests are hashed here, and what k3s may have is signed as it stands", async () => {
  await atDesk(async (desk) => {
    await makeKey(desk, "a");
    const k3s = { config: { "kube-apiserver-arg": [["audit-log-maxage=7"]] }, registries: [] };
    const first_start = { app: { file: "node.efi" } };
    const release = must(await desk.sign("1.0.0", ["a"], { first_start, k3s })) as object;
    // sha256sum of "the image"
    const app = { sha256: "97e9d7a16021e6d07fbe28cce398f5847fc00c574991fbff65d95fd5e032d389" };
    assert.deepEqual({ ...release, first_start: { app }, k3s }, release);
    for (const bad of [{ app: { sha256: "0".repeat(64) } }, { app: {} }, { app: { file: "no" } }]) {
      assert.equal((await desk.sign("1.1.0", ["a"], { first_start: bad })).ok, false);
    }
  });
});
