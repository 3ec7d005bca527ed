/**
 * `deno task release`: release keys, and manifests that agents built with them take (protocol §6). Private
 * keys are in encrypted files or come from standard input.
 */
import { parseArgs } from "node:util";
import { isEd25519PublicKey } from "../core/protocol/public_key_check.ts";
import { decodeBase64 } from "../core/protocol/base64.ts";
import type { Release } from "../core/protocol/release.ts";
import { sequenceOf } from "../core/protocol/release_age.ts";
import { fail, ok, type Result } from "../core/result.ts";
import { print } from "./print.ts";
import { createAsk } from "./release/ask.ts";
import type { KeyFile } from "./release/key_file.ts";
import { keygen } from "./release/keygen.ts";
import { rotate } from "./release/rotate.ts";
import { signRelease } from "./release/sign.ts";
import { openSigningKey, type SigningKey } from "./release/signing_key.ts";
import { verifyManifest } from "./release/verify.ts";

const USAGE = `usage: deno task release COMMAND

  keygen --out FILE
      makes a release key, encrypted with a passphrase, and prints its public half
  sign --key FILE [--key FILE] --description FILE [--dist DIR] [--new-ledger] --out FILE
      hashes the artifacts and signs the manifest of the release that the description describes;
      --new-ledger begins the ledger of a key that has signed nothing yet
  verify --manifest FILE --version VERSION --public-key BASE64... [--dist DIR]
      checks a manifest as an agent does; with --dist its programs too
  rotate --keep FILE --replace FILE --out FILE
      makes a key in the place of another; the one that is kept signs a record of it

Passphrases are typed, or are lines of standard input in the order of the keys. '--key -' takes a
private key (base64) from standard input and needs --ledger FILE, where it is kept what it signed.
`;

type Command = (args: readonly string[]) => Promise<Result<string, string>>;

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ["keygen", keygenCommand],
  ["sign", signCommand],
  ["verify", verifyCommand],
  ["rotate", rotateCommand],
]);

/** Gives the exit code. */
async function main([name = "", ...args]: readonly string[]): Promise<number> {
  if (name === "--help" || name === "help") {
    print("stdout", USAGE);
    return 0;
  }
  const command = COMMANDS.get(name);
  if (command === undefined) {
    print("stderr", `release: unknown command '${name}'\n\n${USAGE}`);
    return 2;
  }
  try {
    const done = await command(args);
    print(done.ok ? "stdout" : "stderr", `${done.ok ? done.value : `release: ${done.error}`}\n`);
    return done.ok ? 0 : 1;
  } catch (error) {
    print("stderr", `release: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

async function keygenCommand(args: readonly string[]): Promise<Result<string, string>> {
  const { values } = parseArgs({ args: [...args], options: { out: { type: "string" } } });
  const made = await keygen(createAsk(), required(values.out, "--out FILE"));
  return made.ok ? ok(describeKey(made.value)) : made;
}

async function signCommand(args: readonly string[]): Promise<Result<string, string>> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      key: { type: "string", multiple: true },
      ledger: { type: "string" },
      "new-ledger": { type: "boolean" },
      description: { type: "string" },
      dist: { type: "string" },
      out: { type: "string" },
    },
  });
  const description = required(values.description, "--description FILE");
  const out = required(values.out, "--out FILE");
  const paths = values.key ?? [];
  if (paths.length === 0) return fail("--key FILE is missing");
  if (new Set(paths).size !== paths.length) return fail("--key: the same key twice");
  const ask = createAsk();
  const keys: SigningKey[] = [];
  for (const path of paths) {
    const key = await openSigningKey(ask, path, {
      file: values.ledger,
      isNew: values["new-ledger"],
    });
    if (!key.ok) return key;
    keys.push(key.value);
  }
  const now = new Date().toISOString();
  const signed = await signRelease({ description, dist: values.dist ?? "dist", out, keys, now });
  return signed.ok ? ok(`${out}: ${describeRelease(signed.value)}, signed`) : signed;
}

async function verifyCommand(args: readonly string[]): Promise<Result<string, string>> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      manifest: { type: "string" },
      version: { type: "string" },
      "public-key": { type: "string", multiple: true },
      dist: { type: "string" },
    },
  });
  const manifest = required(values.manifest, "--manifest FILE");
  const version = required(values.version, "--version VERSION");
  const publicKeys: Uint8Array[] = [];
  for (const text of values["public-key"] ?? []) {
    const key = decodeBase64(text);
    if (key === null || !isEd25519PublicKey(key)) {
      return fail(`--public-key ${text}: is not the base64 of a proper 32-byte Ed25519 key`);
    }
    publicKeys.push(key);
  }
  if (publicKeys.length === 0) return fail("--public-key BASE64 is missing");
  const verified = await verifyManifest({ manifest, version, publicKeys, dist: values.dist });
  if (!verified.ok) return verified;
  const { agent, image } = verified.value;
  const what = `agent ${agent.version}, k3s ${image.k3s_version}`;
  return ok(`${manifest}: ${describeRelease(verified.value)}, ${what}`);
}

/** A release and how old it is, for people. */
function describeRelease(release: Release): string {
  const { version, minimum, expires_at } = release;
  return [
    `release ${version}, sequence ${sequenceOf(release)}`,
    ...(minimum === undefined ? [] : [`minimum sequence ${minimum.sequence}`]),
    ...(expires_at === undefined ? [] : [`expires at ${expires_at}`]),
  ].join(", ");
}

async function rotateCommand(args: readonly string[]): Promise<Result<string, string>> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      keep: { type: "string" },
      replace: { type: "string" },
      out: { type: "string" },
    },
  });
  const done = await rotate(createAsk(), {
    keep: required(values.keep, "--keep FILE"),
    replace: required(values.replace, "--replace FILE"),
    out: required(values.out, "--out FILE"),
    now: new Date().toISOString(),
  });
  if (!done.ok) return done;
  const { kept, made, record } = done.value;
  return ok([
    describeKey(made),
    `record: ${record}`,
    `build with: --release-key ${kept.public_key} --release-key ${made.public_key}`,
    "sign that build's release with the key that was kept: agents do not know the new one yet",
  ].join("\n"));
}

function describeKey({ key_id, public_key }: KeyFile): string {
  return `key ID: ${key_id}\npublic key: ${public_key}`;
}

function required(value: string | undefined, what: string): string {
  if (value === undefined) throw new Error(`${what} is missing`);
  return value;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
