import { dirname } from "node:path";
import { signEnvelope, verifyRelease } from "../../core/protocol/dsse.ts";
import type { Release } from "../../core/protocol/release.ts";
import { sequenceOf } from "../../core/protocol/release_age.ts";
import { signingPublicKey } from "../../core/protocol/signing.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { describeRelease } from "./description.ts";
import { jsonText, writeWhole } from "./files.ts";
import { judgeOptions } from "./options/judge_options.ts";
import { enter, type Ledger, nextSequence } from "./ledger.ts";
import { keepLedger, type SigningKey } from "./signing_key.ts";

/** What is to be signed. */
export interface SignRequest {
  readonly description: string;
  readonly dist: string;
  readonly out: string;
  readonly keys: readonly SigningKey[];
  /** RFC 3339, for the ledgers. */
  readonly now: string;
}

/**
 * Hashes the artifacts, makes the manifest, enters it in every key's ledger, and writes the envelope. Nothing
 * is written unless all keys may sign it. The error is for people.
 */
export async function signRelease(request: SignRequest): Promise<Result<Release, string>> {
  const text = await Deno.readTextFile(request.description);
  const described = await describeRelease(text, dirname(request.description), request.dist);
  if (!described.ok) return described;
  const { version } = described.value;
  const ledgersNow = request.keys.map(({ ledger }) => ledger);
  const sequence = described.value.sequence ?? nextSequence(ledgersNow, version);
  const release: Release = { ...described.value, ...(sequence === undefined ? {} : { sequence }) };
  const fault = faultOfAge(release);
  if (fault !== null) return fail(`not signed: ${fault}`);
  const optionFaults = judgeOptions(release);
  if (optionFaults.length > 0) return fail(`not signed:\n  ${optionFaults.join("\n  ")}`);
  const payload = new TextEncoder().encode(JSON.stringify(release));

  const ledgers: { readonly file: string; readonly ledger: Ledger }[] = [];
  for (const { ledger, ledgerFile } of request.keys) {
    const entered = enter(ledger, release, payload, request.now);
    if (!entered.ok) return fail(`not signed: ${entered.error}`);
    ledgers.push({ file: ledgerFile, ledger: entered.value });
  }
  const seeds = request.keys.map(({ seed }) => seed);
  const envelope = jsonText(signEnvelope(payload, seeds));
  // What an agent would refuse must not get out.
  const checked = await verifyRelease(
    new TextEncoder().encode(envelope),
    version,
    seeds.map((seed) => signingPublicKey(seed)),
  );
  if (!checked.ok) return fail(`an agent would refuse it: ${checked.error.message}`);
  for (const { file, ledger } of ledgers) await keepLedger(file, ledger);
  await writeWhole(request.out, envelope);
  return ok(release);
}

/** What agents would make of a release's age that its author cannot mean; null where nothing is wrong. */
function faultOfAge({ created_at, expires_at, minimum, ...release }: Release): string | null {
  const sequence = sequenceOf(release);
  if (minimum !== undefined && minimum.sequence > sequence) {
    return `minimum.sequence ${minimum.sequence} is above the release's own sequence ${sequence}: ` +
      "no agent would take it";
  }
  if (expires_at !== undefined && Date.parse(expires_at) <= Date.parse(created_at)) {
    return `expires_at ${expires_at} is not after created_at ${created_at}: no agent would take it`;
  }
  return null;
}
