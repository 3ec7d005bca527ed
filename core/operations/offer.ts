import type * as z from "zod";
import { isJsonObject, type JsonObject } from "../json.ts";
import { printable } from "../printable.ts";
import { isOperationId, Rfc3339 } from "../protocol/identifiers.ts";
import type { OfferedOperation, OperationResult } from "../protocol/operation.ts";
import { describeIssue } from "../protocol/schema_error.ts";
import { describeOther, type OtherCluster } from "../state/custody.ts";
import type { Journal } from "../state/journal.ts";
import type { State } from "../state/state.ts";
import { mayForget, type Witnesses } from "../state/witnesses.ts";
import type { AnyDefinition } from "./definition.ts";
import { answered, begun } from "./journal.ts";
import { MAX_REMEMBERED } from "./outbox.ts";

/** What becomes of an operation that the portal offers. */
export type Verdict =
  /** Its ID could not name a log file: never used (condition `invalid_operation`). */
  | { readonly kind: "invalid_id" }
  /** It is the one under way, or another is not done yet: nothing to do now. */
  | { readonly kind: "ignore" }
  /** It is taken in hand: it runs, or where the journal has a result already, that is reported. */
  | { readonly kind: "take"; readonly journal: Journal };

/** What the refusals depend on beside the operation itself. */
export interface OfferFacts {
  readonly apiUp: boolean;
  /** The other cluster that the API showed last; null where it is this node's. */
  readonly otherCluster: OtherCluster | null;
  /** The owner has keys: an approval is the consent, and says which snapshot is restored. */
  readonly hasOwner: boolean;
  /** The offered operation names a snapshot whose SHA-256 this node knows. */
  readonly knowsSnapshot: boolean;
  /** What the clocks say; whether an operation has expired goes by the corrected one. */
  readonly witnesses: Witnesses;
}

/**
 * Judges an offered operation (protocol §5). At most one at a time: another one waits until the report of
 * the one before is acknowledged or given up. An ID that finished within 30 days is not run again: its
 * result is sent again.
 */
export function judgeOffer(
  operation: OfferedOperation,
  state: State,
  definition: AnyDefinition | null,
  facts: OfferFacts,
): Verdict {
  if (!isOperationId(operation.id)) return { kind: "invalid_id" };
  if (state.operation !== null) return { kind: "ignore" };
  const { witnesses } = facts;
  const at = new Date(witnesses.now).toISOString();
  const { id } = operation;
  const kind = operation.kind.slice(0, MAX_KIND);
  const finished = Object.hasOwn(state.finished, id) ? state.finished[id] : undefined;
  if (finished !== undefined && !mayForget(finished, witnesses)) {
    return { kind: "take", journal: answered({ id, kind: finished.kind }, finished.result, at) };
  }
  const servers = state.desired?.state.servers ?? 1;
  const isFull = isHistoryFull(state, witnesses);
  const refusal = refusalOf(operation, definition, { ...facts, servers, isFull });
  if (refusal !== null) return { kind: "take", journal: answered({ id, kind }, refusal, at) };
  const { params, expires_at, boxes } = operation;
  return {
    kind: "take",
    journal: begun({ id, kind, params: params as JsonObject, expires_at, boxes }, at),
  };
}

/** Whether no further ID can be remembered; those that may be forgotten now make room. */
function isHistoryFull({ finished }: State, witnesses: Witnesses): boolean {
  const entries = Object.values(finished);
  if (entries.length < MAX_REMEMBERED) return false;
  return entries.filter((entry) => !mayForget(entry, witnesses)).length >= MAX_REMEMBERED;
}

/** Longest kind that is kept; ours are far shorter. */
const MAX_KIND = 64;

/** The first reason that applies, in the order of protocol §5; null where nothing is against it. */
function refusalOf(
  operation: OfferedOperation,
  definition: AnyDefinition | null,
  { apiUp, otherCluster, hasOwner, knowsSnapshot, witnesses: { now }, servers, isFull }:
    & OfferFacts
    & {
      readonly servers: number;
      readonly isFull: boolean;
    },
): OperationResult | null {
  if (definition === null) {
    const kind = JSON.stringify(operation.kind.slice(0, MAX_KIND));
    return { state: "unsupported", message: printable(`this agent has no operation ${kind}`) };
  }
  const expires = operation.expires_at;
  const expiry = expires !== undefined && Rfc3339.safeParse(expires).success
    ? Date.parse(expires)
    : null;
  if (expiry !== null && expiry <= now) return expired(expires);
  const foreign = foreignRefusal(definition, otherCluster);
  if (foreign !== null) return foreign;
  if (definition.needsApi && !apiUp) {
    const nor = definition.apiMayBeElsewhere === true
      ? ", nor does its cluster's at the server that k3s joins"
      : "";
    return refused("api_down", `the Kubernetes API of this node does not answer${nor}`);
  }
  if (definition.needsServers === true && servers === 1) {
    const message =
      "it is for clusters with several servers, and no desired state says that of this one";
    return refused("single_server", message);
  }
  if (definition.needsConsent === true && !hasOwner && !hasConsent(operation.params)) {
    return refused("consent_missing", "params.consent must say who consented (by) and when (at)");
  }
  if (isFull && definition.isRescue !== true) {
    return refused(
      "history_full",
      `this node remembers ${MAX_REMEMBERED} operations and takes no other before the oldest is 30 days old`,
    );
  }
  if (expires !== undefined && expiry === null) {
    return refused("invalid_params", "expires_at is no RFC 3339 time");
  }
  if (operation.unfit !== undefined) return refused("invalid_params", operation.unfit);
  const params = definition.params.safeParse(operation.params);
  if (!params.success) {
    return refused("invalid_params", describeIssue(params.error, ["params"]));
  }
  if (hasOwner && !knowsSnapshot && lacksHash(operation)) {
    const message = "params.sha256 is missing: with approval_keys a restore from s3 needs the " +
      "SHA-256 of the snapshot's file, unless this node took the snapshot (snapshots.json)";
    return refused("invalid_params", message);
  }
  return null;
}

/** What is approved is one snapshot, not whatever stands under its name in the bucket by then. */
export function lacksHash({ kind, params }: OfferedOperation): boolean {
  return kind === "cluster.restore" && params["from"] === "s3" && params["sha256"] === undefined;
}

/**
 * The refusal of an operation that was taken in hand and expired before its first step: a crash, or a disk
 * that took nothing, may lie in between. Null for any other.
 */
export function lateRefusal(journal: Journal, now: number): OperationResult | null {
  const { expires_at } = journal;
  const isLate = mayHaveExpired(journal) && Date.parse(expires_at ?? "") <= now;
  return isLate ? expired(expires_at) : null;
}

/** Whether the time still decides if an operation is begun. */
export function mayHaveExpired({ expires_at, step }: Journal): boolean {
  return expires_at !== undefined && step === null;
}

/**
 * The refusal of an operation that an earlier version took in hand, and that this one would not have; null
 * once it has begun.
 */
export function staleRefusal(
  { step, params }: Journal,
  definition: AnyDefinition | null,
): OperationResult | null {
  if (step !== null || definition === null) return null;
  const parsed = definition.params.safeParse(params);
  return parsed.success ? null : refused("invalid_params", staleWords(parsed.error));
}

/** Why an operation that was accepted is not carried out with its parameters. */
export function staleWords(error: z.ZodError): string {
  return printable(
    `${
      describeIssue(error, ["params"])
    }: an earlier version of the agent accepted this, and this ` +
      "version does not; ask for the operation again",
  );
}

/**
 * The refusal where the API is that of another cluster; null for what may help there, and where it is not.
 * Asked when an operation is offered, and once more before its first step.
 */
export function foreignRefusal(
  definition: AnyDefinition,
  other: OtherCluster | null,
): OperationResult | null {
  if (other === null || definition.isRescue === true) return null;
  return refused("other_cluster", describeOther(other));
}

function expired(at: string | undefined): OperationResult {
  return refused("expired", `expired at ${at}`);
}

/** Whether a consent says who and when; one that says it in a wrong form is a wrong parameter. */
function hasConsent(params: unknown): boolean {
  const consent = isJsonObject(params) ? params["consent"] : null;
  if (!isJsonObject(consent)) return false;
  return ["by", "at"].every((name) => (consent[name] ?? "") !== "");
}

function refused(code: string, message: string): OperationResult {
  // It may quote names that the portal gave.
  return { state: "refused", code, message: printable(message) };
}
