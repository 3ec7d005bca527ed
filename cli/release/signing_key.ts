import { decodeBase64 } from "../../core/protocol/base64.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";
import type { Ask } from "./ask.ts";
import { jsonText, readIfThere, writeWhole } from "./files.ts";
import { openKey, parseKeyFile } from "./key_file.ts";
import { EMPTY_LEDGER, type Ledger, ledgerPath, parseLedger } from "./ledger.ts";

/** A private key that was opened, and what it has signed. */
export interface SigningKey {
  readonly seed: Secret<Uint8Array>;
  readonly ledger: Ledger;
  readonly ledgerFile: string;
}

/** Where a key's ledger is, and what to do where there is none. */
export interface LedgerOptions {
  /** The ledger of a key from standard input. */
  readonly file?: string | undefined;
  /** A key without a ledger begins one. Otherwise that is an error: nobody knows what the key signed. */
  readonly isNew?: boolean | undefined;
}

/**
 * Opens the key of `path`, or of standard input where that is `-` (base64 of the 32-byte seed). The error
 * is for people.
 */
export async function openSigningKey(
  ask: Ask,
  path: string,
  options: LedgerOptions = {},
): Promise<Result<SigningKey, string>> {
  const lies = path === "-" ? options.file : ledgerPath(path);
  if (lies === undefined) {
    return fail("a key from standard input needs --ledger FILE: where it is kept what it signed");
  }
  const text = await readIfThere(lies);
  if (text === null && options.isNew !== true) {
    return fail(
      `${lies} is missing: it says what the key has signed. Put back a copy of it; ` +
        "for a key that has signed nothing yet, --new-ledger begins one",
    );
  }
  const ledger = text === null ? ok(EMPTY_LEDGER) : parseLedger(text);
  if (!ledger.ok) return fail(`${lies} ${ledger.error}`);
  const seed = path === "-" ? await seedFromInput(ask) : await seedFromFile(ask, path);
  return seed.ok ? ok({ seed: seed.value, ledger: ledger.value, ledgerFile: lies }) : seed;
}

/** Keeps what a key has signed; done before the signature leaves the program. */
export async function keepLedger(file: string, ledger: Ledger): Promise<void> {
  await writeWhole(file, jsonText(ledger), 0o600);
}

async function seedFromFile(ask: Ask, path: string): Promise<Result<Secret<Uint8Array>, string>> {
  const text = await readIfThere(path);
  if (text === null) return fail(`${path} is not there`);
  const file = parseKeyFile(text);
  if (!file.ok) return fail(`${path} ${file.error}`);
  const seed = await openKey(file.value, await ask.secret(`passphrase of ${path}`));
  return seed.ok ? seed : fail(`${path}: ${seed.error}`);
}

async function seedFromInput(ask: Ask): Promise<Result<Secret<Uint8Array>, string>> {
  const text = await ask.secret("private key (base64)");
  const seed = decodeBase64(text.reveal().trim());
  return seed?.length === 32
    ? ok(new Secret<Uint8Array>(seed))
    : fail("standard input is not the base64 of a 32-byte private key");
}
