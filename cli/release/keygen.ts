import { randomBytes } from "node:crypto";
import { fail, ok, type Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";
import type { Ask } from "./ask.ts";
import { jsonText, readIfThere, writeWhole } from "./files.ts";
import { type KeyFile, sealKey } from "./key_file.ts";

/** Makes a key and writes it, encrypted, to `path`; a file that is there stays. The error is for people. */
export async function keygen(
  ask: Ask,
  path: string,
  cost?: number,
): Promise<Result<KeyFile, string>> {
  if (await readIfThere(path) !== null) return fail(`${path} is there already and is not replaced`);
  const passphrase = await ask.newSecret(`passphrase for ${path}`);
  const seed = new Secret<Uint8Array>(new Uint8Array(randomBytes(32)));
  const file = await sealKey(seed, passphrase, cost);
  if (!file.ok) return file;
  await writeWhole(path, jsonText(file.value), 0o600);
  return ok(file.value);
}
