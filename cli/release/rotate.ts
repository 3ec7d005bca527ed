import { encodeBase64 } from "../../core/protocol/base64.ts";
import { keyId, pae } from "../../core/protocol/dsse.ts";
import { sign, signingPublicKey } from "../../core/protocol/signing.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Ask } from "./ask.ts";
import { jsonText, readIfThere, writeWhole } from "./files.ts";
import { type KeyFile, parseKeyFile } from "./key_file.ts";
import { keygen } from "./keygen.ts";
import { EMPTY_LEDGER, ledgerPath, parseLedger } from "./ledger.ts";
import { keepLedger, openSigningKey } from "./signing_key.ts";

const PAYLOAD_TYPE = "application/vnd.pbx.release-key-rotation+json";

/** Which key stays, which goes, and where the new one is written. */
export interface RotateRequest {
  readonly keep: string;
  readonly replace: string;
  readonly out: string;
  /** RFC 3339. */
  readonly now: string;
}

/** The two keys that programs are built with from now on. */
export interface Rotation {
  readonly kept: KeyFile;
  readonly made: KeyFile;
  /** The file with the statement that the kept key signed. */
  readonly record: string;
}

/**
 * Makes a key in the place of another. Agents trust the kept key already: releases that it signs bring them
 * a program with the new pair. The replaced key needs not be at hand, which is often why it goes; where its
 * file is, its ledger says that it signs no more. The error is for people.
 */
export async function rotate(
  ask: Ask,
  { keep, replace, out, now }: RotateRequest,
  cost?: number,
): Promise<Result<Rotation, string>> {
  if (keep === "-") return fail("--keep must be a key file");
  const [kept, replaced] = [await readKeyFile(keep), await readKeyFile(replace)];
  if (!kept.ok) return kept;
  if (!replaced.ok) return replaced;
  if (kept.value.key_id === replaced.value.key_id) return fail("a key cannot replace itself");
  // A key that has signed nothing has no ledger yet.
  const key = await openSigningKey(ask, keep, { isNew: true });
  if (!key.ok) return key;
  if (key.value.ledger.replaced_by !== undefined) {
    return fail(`${keep} was replaced by ${key.value.ledger.replaced_by} and signs no more`);
  }
  const text = await readIfThere(ledgerPath(replace));
  const ledger = text === null ? ok(EMPTY_LEDGER) : parseLedger(text);
  if (!ledger.ok) return fail(`${ledgerPath(replace)} ${ledger.error}`);
  if (ledger.value.replaced_by !== undefined) {
    return fail(`${replace} was replaced by ${ledger.value.replaced_by} already`);
  }
  const made = await keygen(ask, out, cost);
  if (!made.ok) return made;

  const payload = new TextEncoder().encode(JSON.stringify({
    kept: kept.value.public_key,
    replaced: replaced.value.public_key,
    made: made.value.public_key,
    at: now,
  }));
  const { seed } = key.value;
  const record = `${out}.rotation.json`;
  const envelope = {
    payloadType: PAYLOAD_TYPE,
    payload: encodeBase64(payload),
    signatures: [{
      keyid: keyId(signingPublicKey(seed)),
      sig: encodeBase64(sign(seed, pae(PAYLOAD_TYPE, payload))),
    }],
  };
  await writeWhole(record, jsonText(envelope));
  // The new key takes over how far releases have come, where that is known.
  if (await readIfThere(ledgerPath(keep)) !== null) {
    await keepLedger(ledgerPath(out), { format: 1, signed: key.value.ledger.signed });
  }
  await keepLedger(ledgerPath(replace), { ...ledger.value, replaced_by: made.value.key_id });
  return ok({ kept: kept.value, made: made.value, record });
}

async function readKeyFile(path: string): Promise<Result<KeyFile, string>> {
  const text = await readIfThere(path);
  if (text === null) return fail(`${path} is not there`);
  const file = parseKeyFile(text);
  return file.ok ? file : fail(`${path} ${file.error}`);
}
