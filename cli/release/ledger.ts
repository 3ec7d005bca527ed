import { createHash } from "node:crypto";
import { fail, ok, type Result } from "../../core/result.ts";
import { compareVersions } from "../../core/protocol/version_order.ts";

/** What a key has signed, newest last; it lies beside the key file. */
export interface Ledger {
  readonly format: 1;
  readonly signed: readonly LedgerEntry[];
  /** The ID of the key that took this one's place; it signs nothing any more. */
  readonly replaced_by?: string;
}

/** One signed manifest. */
export interface LedgerEntry {
  readonly version: string;
  /** The place of the release in their order; ledgers from before releases had one are without it. */
  readonly sequence?: number;
  /** Lower-case hex SHA-256 of the signed payload. */
  readonly payload_sha256: string;
  /** RFC 3339. */
  readonly at: string;
}

/** The ledger of a key that has signed nothing. */
export const EMPTY_LEDGER: Ledger = { format: 1, signed: [] };

/** The path of a key file's ledger. */
export function ledgerPath(keyFile: string): string {
  return `${keyFile}.ledger.json`;
}

/** Reads a ledger's text. The error is for people. */
export function parseLedger(text: string): Result<Ledger, string> {
  try {
    const value = JSON.parse(text);
    const isWhole = value?.format === 1 && Array.isArray(value.signed) &&
      value.signed.every((each: Partial<LedgerEntry> | null) =>
        typeof each?.version === "string" && typeof each.payload_sha256 === "string" &&
        (each.sequence === undefined || Number.isSafeInteger(each.sequence))
      );
    if (isWhole) return ok(value);
  } catch {
    // Said below.
  }
  return fail("is no ledger of signed releases; put back a copy of it");
}

/**
 * The sequence of a release whose description leaves it out: one more than the last of every ledger. A
 * version that was signed before keeps the sequence that it was signed with.
 */
export function nextSequence(ledgers: readonly Ledger[], version: string): number | undefined {
  const before = ledgers.flatMap(({ signed }) => signed).find((each) => each.version === version);
  return before === undefined ? Math.max(...ledgers.map(lastSequence)) + 1 : before.sequence;
}

function lastSequence({ signed }: Ledger): number {
  return Math.max(0, ...signed.map(({ sequence }) => sequence ?? 0));
}

/**
 * The ledger with `payload` as release `version` in it. A version lower than the last, and another payload
 * under a version that was signed already, are refused: nobody could tell what a node has. So is a
 * sequence that is not higher than the last: agents go by it.
 */
export function enter(
  ledger: Ledger,
  { version, sequence }: { readonly version: string; readonly sequence?: number | undefined },
  payload: Uint8Array,
  at: string,
): Result<Ledger, string> {
  if (ledger.replaced_by !== undefined) {
    return fail(`this key was replaced by ${ledger.replaced_by} and signs no more`);
  }
  const comparable = compareVersions(version, version);
  if (!comparable.ok) return comparable;
  const hash = createHash("sha256").update(payload).digest("hex");
  for (const before of ledger.signed) {
    const order = compareVersions(version, before.version);
    if (!order.ok) return order;
    if (order.value < 0) {
      return fail(`${version} is lower than ${before.version}, which was signed already`);
    }
    if (order.value > 0) continue;
    if (before.version === version && before.payload_sha256 === hash) return ok(ledger);
    return fail(`${before.version} was signed already, with other content: take a new version`);
  }
  const last = lastSequence(ledger);
  if (sequence === undefined || sequence <= last) {
    const what = `sequence ${sequence ?? "(none)"} of ${version}`;
    return fail(`${what} is not higher than ${last}, the last that this key signed`);
  }
  const entry = { version, sequence, payload_sha256: hash, at };
  return ok({ ...ledger, signed: [...ledger.signed, entry] });
}
