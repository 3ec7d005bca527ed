import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { DesiredState } from "../protocol/desired_state.ts";
import { Approvals } from "../protocol/approval.ts";
import type { Body } from "../protocol/json_body.ts";
import type { OfferedOperation } from "../protocol/operation.ts";
import { describeIssue } from "../protocol/schema_error.ts";
import type { SealingKey } from "../protocol/sealing.ts";
import type { BoxPolicy, KnownBoxes } from "../protocol/bound_box.ts";
import { bindBoxes, openInPlace, scanSyncAnswer } from "../protocol/secret_positions.ts";
import { SyncAnswer } from "../protocol/sync.ts";

/** A desired state as offered: whole and readable, or with the fault that keeps it from being used. */
export type Offered =
  | { readonly kind: "unchanged" }
  | { readonly kind: "desired"; readonly tag: string; readonly state: DesiredState }
  | { readonly kind: "faulty"; readonly message: string };

/** What an answer to a sync turned out to be, before any of it is used. */
export type Judgement =
  /** No answer of this protocol: like 5xx. */
  | { readonly kind: "malformed"; readonly message: string }
  /** The whole document is refused for a secret in it. */
  | {
    readonly kind: "refused";
    readonly code: "unsealed_secret" | "undecryptable_secret" | "misplaced_secret";
    readonly message: string;
  }
  | {
    readonly kind: "usable";
    /** Milliseconds since the epoch. */
    readonly portalTime: number;
    readonly offered: Offered;
    readonly operation: OfferedOperation | null;
    /** The portal says that it binds every box, from now on. */
    readonly isBinding: boolean;
    /** The boxes of the desired state that came unbound. */
    readonly unbound: KnownBoxes;
  };

/** What the boxes of an answer are judged by, and how those that came unbound are sealed to be stored. */
export interface BoxRules extends BoxPolicy {
  /** Null: they stay as they came. */
  readonly sealTo: ((plaintext: Uint8Array) => string) | null;
}

const NO_RULES: BoxRules = { isBoundRequired: false, known: {}, sealTo: null };

/**
 * Judges the body of an answer to `POST /sync` (protocol §2 and §4). Secrets come first, on the raw
 * document: nothing else in it is looked at while one of them is in clear or does not open. Faults
 * inside the desired state do not hold back the operation beside it, nor those of the operation the
 * desired state. `unfit`: what in the body did not stay what it was sent as.
 */
export function judgeSyncAnswer(
  body: JsonValue,
  keys: readonly SealingKey[],
  unfit: Body["unfit"] = [],
  rules: BoxRules = NO_RULES,
): Judgement {
  const boxes = scanSyncAnswer(body);
  if (!boxes.ok) return { kind: "refused", ...boxes.error };
  const unbound = openInPlace(boxes.value, keys, rules);
  if (!unbound.ok) return { kind: "refused", ...unbound.error };
  // Where all of them are bound none has to be opened a second time.
  const isBound = rules.sealTo === null || Object.keys(unbound.value).length === 0;
  const bound = isBound ? body : bindBoxes(body, boxes.value, keys, rules.sealTo);
  const of = (root: string) =>
    Object.fromEntries(
      Object.entries(unbound.value).filter(([, position]) => position.startsWith(`${root}:`)),
    );

  const inDesired = unfit.find(({ within }) => within === "desired")?.message;
  const inOperation = unfit.find(({ within }) => within === "operation")?.message ??
    faultOfApprovals(bound);
  const elsewhere = unfit.find(({ within }) => within !== "desired" && within !== "operation");
  if (elsewhere !== undefined) return { kind: "malformed", message: elsewhere.message };
  const answer = SyncAnswer.safeParse(envelopeOf(bound, {
    desired: inDesired !== undefined,
    operation: inOperation !== undefined,
  }));
  if (!answer.success) return { kind: "malformed", message: describeIssue(answer.error) };
  const { time, desired, desired_tag, operation, sealing } = answer.data;
  return {
    kind: "usable",
    portalTime: Date.parse(time),
    offered: inDesired === undefined
      ? offeredBy(desired, desired_tag)
      : { kind: "faulty", message: inDesired },
    operation: operation === null ? null : {
      ...operation,
      boxes: of("operation"),
      ...(inOperation === undefined ? {} : { unfit: inOperation }),
    },
    isBinding: sealing === "bound",
    unbound: of("desired"),
  };
}

/**
 * The answer with what is judged apart in a form that the envelope's schema takes. An unfit desired state
 * is empty here. An unfit operation has null in the place of numbers that are not finite. An operation's
 * `expires_at` is a text, whatever it was: one that is not a time is a wrong parameter of that operation
 * (protocol §5) and no fault of all the rest.
 */
function envelopeOf(
  body: JsonValue,
  unfit: { readonly desired: boolean; readonly operation: boolean },
): JsonValue {
  if (!isJsonObject(body)) return body;
  const desired = unfit.desired && isJsonObject(body["desired"]) ? { desired: {} } : {};
  const { operation } = body;
  if (!isJsonObject(operation)) return { ...body, ...desired };
  const finite: JsonObject = unfit.operation ? JSON.parse(JSON.stringify(operation)) : operation;
  const { expires_at } = operation;
  const expiry = expires_at === undefined || typeof expires_at === "string"
    ? {}
    : { expires_at: JSON.stringify(expires_at) };
  const { approvals: _, ...unapproved } = finite;
  const read = faultOfApprovals(body) === undefined ? finite : unapproved;
  return { ...body, ...desired, operation: { ...read, ...expiry } };
}

/** Malformed approvals are a wrong parameter of their operation, and do not hold back the desired state. */
function faultOfApprovals(body: JsonValue): string | undefined {
  const operation = isJsonObject(body) ? body["operation"] : null;
  if (!isJsonObject(operation) || operation["approvals"] === undefined) return undefined;
  const approvals = Approvals.safeParse(operation["approvals"]);
  return approvals.success ? undefined : describeIssue(approvals.error, ["approvals"]);
}

function offeredBy(desired: SyncAnswer["desired"], tag: unknown): Offered {
  if (desired === null) return { kind: "unchanged" };
  const state = DesiredState.safeParse(desired);
  if (!state.success) {
    return { kind: "faulty", message: describeIssue(state.error, ["desired"]) };
  }
  return { kind: "desired", tag: String(tag), state: state.data };
}
