import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { REDACTED, redactPatterns } from "../operations/secret_patterns.ts";
import { withoutBoxes } from "../protocol/approval.ts";
import { canonicalJson } from "../protocol/jcs.ts";
import type { HistoryEntry, HistoryEvent, Orderer, UsedKey } from "../state/history.ts";
import type { Journal } from "../state/journal.ts";
import type { Context } from "./context.ts";
import { timestamp } from "./context.ts";

/** An entry of now. */
export function entryOf(context: Context, by: Orderer, event: HistoryEvent): HistoryEntry {
  return { at: timestamp(context), certain: context.time.isCertain(), by, ...event };
}

/** The agent itself. */
export const BY_AGENT: Orderer = { who: "agent" };
/** Somebody on the node. */
export const BY_ROOT: Orderer = { who: "root" };

/** The portal, by the key that signed its answer; null where nothing proves that it is the portal's. */
export function byPortal(key: string | null): Orderer {
  return { who: "portal", key };
}

/** Longest text of parameters. */
const MAX_PARAMS = 1_000;

/** An operation is taken in hand, or is answered without being begun. */
export function takenEvent(
  { id, kind, params, result }: Journal,
  approvals: readonly UsedKey[],
): HistoryEvent {
  if (result !== undefined) return endOf("operation_not_begun", { id, kind, result });
  return {
    what: "operation_begun",
    id,
    kind,
    params: shownParams(params as JsonObject),
    ...(approvals.length === 0 ? {} : { approvals }),
  };
}

/** Longer texts are cut before they are looked through for secrets. */
const MAX_TEXT = 2_000;

function shownParams(params: JsonObject): string {
  const shown = textOf(redacted("", withoutBoxes(params)));
  return shown.length > MAX_PARAMS ? `${shown.slice(0, MAX_PARAMS)}...` : shown;
}

/** The value of a member without what looks like a secret, by its name or by itself. */
function redacted(name: string, value: JsonValue): JsonValue {
  if (typeof value === "string") {
    const shown = redactPatterns(`${name}=${value.slice(0, MAX_TEXT)}`);
    return shown.startsWith(`${name}=`) ? shown.slice(name.length + 1) : REDACTED;
  }
  if (Array.isArray(value)) return value.slice(0, MAX_PARAMS).map((one) => redacted(name, one));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, one]) => [member, redacted(member, one)]),
  );
}

/** Canonical JSON, as an approval has it; half a character has none. */
function textOf(value: JsonValue): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value);
  }
}

/** An operation that was begun has a result. */
export function endedEvent(id: string, kind: string, result: Ended["result"]): HistoryEvent {
  return endOf("operation_ended", { id, kind, result });
}

/** A kind that this version does not know may have any length. */
const MAX_KIND = 100;

interface Ended {
  readonly id: string;
  readonly kind: string;
  readonly result: NonNullable<Journal["result"]>;
}

function endOf(
  what: "operation_not_begun" | "operation_ended",
  { id, kind, result: { state, code, step } }: Ended,
): HistoryEvent {
  return {
    what,
    id,
    kind: kind.slice(0, MAX_KIND),
    state,
    ...(code === undefined ? {} : { code }),
    ...(step === undefined ? {} : { step }),
  };
}
