import type { JsonObject, JsonValue } from "../json.ts";
import { redactPatterns } from "../operations/secret_patterns.ts";
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

/** No other text is looked through for secrets: parameters may have 256 KiB. */
const MAX_SEARCHED = 20_000;

function shownParams(params: JsonObject): string {
  const shown = redactPatterns(textOf(withoutBoxes(params)).slice(0, MAX_SEARCHED));
  return shown.length > MAX_PARAMS ? `${shown.slice(0, MAX_PARAMS)}...` : shown;
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
