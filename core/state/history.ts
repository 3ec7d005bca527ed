import * as z from "zod";
import type { JsonValue } from "../json.ts";
import { Rfc3339 } from "../protocol/identifiers.ts";
import { JsonMap } from "../protocol/json_value.ts";

/**
 * The history of a node: who ordered what, and by which proof (trust.md T7). An entry is stored in state.json
 * together with what it tells, and then appended to history.jsonl (history_file.ts). A crash in between loses
 * none and repeats none: the next start compares the file with the entries in the state.
 */

/** Who ordered something, and what proves it. */
export const Orderer = z.object({
  /** `root`: on the node itself. `agent`: nobody ordered it, the agent did it by itself. */
  who: z.enum(["portal", "root", "agent"]),
  /** Of the portal: the ID of the key in `portal_keys` that signed the answer; null: nothing proves it. */
  key: z.string().nullable().optional(),
});
/** One of them. */
export type Orderer = z.infer<typeof Orderer>;

/** An entry as it is read: a newer version may write more members, and other words. */
export const HistoryEntry = z.looseObject({
  /** The corrected time. */
  at: Rfc3339,
  /** Whether that time was certain. */
  certain: z.boolean(),
  what: z.string(),
  by: Orderer,
});
/** One of them. */
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** An approval that was used: whose key signed it. */
export interface UsedKey {
  /** The comment of the key in `approval_keys`. */
  readonly owner: string;
  readonly fingerprint: string;
  /** The change that was approved; left out for an operation. */
  readonly change?: string;
}

/** A member that changed; the values stand there only where they are short and cannot be secret. */
export interface Changed {
  readonly path: string;
  readonly from?: JsonValue;
  readonly to?: JsonValue;
}

/** What can happen. */
export type HistoryEvent =
  | {
    readonly what: "enrolled";
    readonly agent_id: string;
    readonly cluster: string;
    readonly node: string;
    readonly server: string;
    readonly portal: string;
  }
  /** The first entry of an agent that was enrolled before it kept a history, or lost state.json. */
  | { readonly what: "history_begun" }
  | {
    readonly what: "desired_accepted";
    readonly revision: number;
    readonly tag: string;
    readonly release: {
      readonly version: string;
      readonly sequence: number;
      /** The ID of the release key whose signature holds. */
      readonly key: string;
    };
    /** Null for the first one. */
    readonly changed: readonly Changed[] | null;
    /** Changes that are not listed. */
    readonly more?: number;
    readonly approvals?: readonly UsedKey[];
  }
  | {
    readonly what: "operation_begun";
    readonly id: string;
    readonly kind: string;
    /** As an approval shows them, sealed boxes left out; cut where they are long. */
    readonly params: string;
    readonly approvals?: readonly UsedKey[];
  }
  | {
    readonly what: "operation_not_begun" | "operation_ended";
    readonly id: string;
    readonly kind: string;
    readonly state: string;
    readonly code?: string;
    readonly step?: string;
  }
  | {
    readonly what: "update_installed";
    readonly from: string;
    readonly to: string;
    /** A 426 demanded it; otherwise the desired state wants it. */
    readonly demanded: boolean;
  }
  | { readonly what: "update_confirmed"; readonly version: string }
  | { readonly what: "update_rolled_back"; readonly from: string; readonly to: string }
  /** The portal refused this identity, or took it again. */
  | { readonly what: "revoked" | "accepted_again" }
  /** config.yaml pins something else than before. */
  | { readonly what: "trust_changed"; readonly changed: readonly Changed[] }
  | { readonly what: "uninstalled" };

/** What state.json holds of the history. */
export const HistoryRecord = z.object({
  /** The last entries: those that a power cut may have taken out of the file are appended again. */
  recent: z.array(HistoryEntry),
  /** What config.yaml pinned at the last look. */
  trust: JsonMap.optional(),
});
/** The record. */
export type HistoryRecord = z.infer<typeof HistoryRecord>;

/** Entries that the state keeps: more than there are between two writes to the file. */
const KEPT = 10;

/** The state with an entry; stored together with what it tells. */
export function withEntry<T extends { readonly history?: HistoryRecord | undefined }>(
  state: T,
  entry: HistoryEntry,
): T {
  const recent = [...(state.history?.recent ?? []), entry].slice(-KEPT);
  return { ...state, history: { ...state.history, recent } };
}
