import { begunStep } from "../operations/begun_mark.ts";
import { type AnyDefinition, isDestructive } from "../operations/definition.ts";
import { answered } from "../operations/journal.ts";
import { judgeOffer, lacksHash } from "../operations/offer.ts";
import { withJournal } from "../operations/outbox.ts";
import { definitionOf } from "../operations/registry.ts";
import { answersElsewhere } from "../operations/rejoin/target.ts";
import { heldCluster } from "../operations/restore/hold.ts";
import type { JsonObject } from "../json.ts";
import { needsApproval, subjectOf } from "../protocol/approved_operations.ts";
import type { OfferedOperation } from "../protocol/operation.ts";
import { otherCluster } from "../state/custody.ts";
import { type Orderer, type UsedKey, withEntry } from "../state/history.ts";
import type { Journal } from "../state/journal.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition, witnesses } from "./context.ts";
import { custodyOfNode } from "./custody.ts";
import { byPortal, entryOf, takenEvent } from "./history_entry.ts";
import { finishApprovals, sayApproval, useApprovals } from "./approvals.ts";
import { readBootstrap } from "./read_bootstrap.ts";
import { wasGivenUp } from "./send_events.ts";

/**
 * Takes an offered operation in hand (protocol §5): stored before anything of it begins. Events are sent
 * and the engine runs beside the cycles. `by`: who offers it. `find` is the registry.
 */
export async function takeOffer(
  context: BoundContext,
  operation: OfferedOperation | null,
  apiUp: boolean,
  find = definitionOf,
  by: Orderer = byPortal(null),
): Promise<void> {
  const seen = witnesses(context);
  const definition = operation === null ? null : find(operation.kind);
  const isUp = apiUp || await isUpElsewhere(context, definition);
  const verdict = operation === null
    ? null
    : judgeOffer(operation, context.store.state, definition, {
      apiUp: isUp,
      hasOwner: context.config.trust.approvalKeys.length > 0,
      knowsSnapshot: await knowsSnapshot(context, operation),
      otherCluster: otherCluster(await custodyOfNode(context)),
      witnesses: seen,
    });
  await finishApprovals(context, (used) => used.use === "operation" && isKnown(context, used.for));
  if (verdict?.kind !== "take") await sayApproval(context, "operation", null);
  if (verdict?.kind === "invalid_id") {
    await raiseCondition(
      context,
      "invalid_operation",
      "the offered operation's id has characters that an id must not have; it is not used",
    );
    return;
  }
  await clearConditions(context, "invalid_operation");
  if (verdict?.kind !== "take" || operation === null) return;
  const journal = await begunBefore(context, verdict.journal, definition) ?? verdict.journal;
  // Taken once more it would only hold up the next operation: it cannot be sent before a restart.
  if (journal.result !== undefined && await wasGivenUp(context, journal)) return;
  if (journal.result !== undefined) await sayApproval(context, "operation", null);
  const approvals = journal.result === undefined ? await approvalsOf(context, operation) : [];
  if (approvals === null) return;
  const isAgain = Object.hasOwn(context.store.state.finished, journal.id);
  const entry = entryOf(context, by, takenEvent(journal, approvals));
  const stored = await context.store.commit((state) => {
    const taken = withJournal(state, journal, seen);
    return isAgain ? taken : withEntry(taken, entry);
  });
  if (!stored.ok) {
    context.ports.log.write("error", "operation_not_stored", stored.error.message);
    return;
  }
  const { id, kind, result } = journal;
  await finishApprovals(context, (used) => used.use === "operation" && used.for === id);
  const what = result === undefined ? "begins" : `is answered with ${result.state}`;
  context.ports.log.write("info", "operation_taken", `operation ${id} (${kind}) ${what}`, {
    operation: id,
    kind,
    ...(result === undefined ? {} : { state: result.state }),
  });
}

/**
 * The keys by which the owner approves an operation that would run; null where that is not approved. One that
 * lacks an approval is neither begun nor finished: it may be offered again with one until it expires.
 */
async function approvalsOf(
  context: BoundContext,
  operation: OfferedOperation,
): Promise<readonly UsedKey[] | null> {
  const { requireApproval } = context.config.trust;
  const { approvals = [] } = operation;
  const params = operation.params as JsonObject;
  const isNeeded = needsApproval(operation.kind, params, requireApproval);
  const subjects = isNeeded
    ? [subjectOf({ ...operation, params }, (await ownSecrets(context)).etcd_s3)]
    : [];
  const verdict = await useApprovals(context, subjects, approvals);
  const fault = verdict.kind === "not_approved" ? verdict.fault : null;
  await sayApproval(context, "operation", fault);
  return verdict.kind === "approved" ? verdict.used : null;
}

/** Whether a restore names a snapshot whose SHA-256 this node knows; asked only where it does not say one. */
async function knowsSnapshot(
  { snapshots }: BoundContext,
  operation: OfferedOperation,
): Promise<boolean> {
  const { snapshot } = operation.params as JsonObject;
  if (!lacksHash(operation) || typeof snapshot !== "string") return false;
  const known = await snapshots.find(snapshot);
  return known.ok && known.value !== null;
}

/** The secrets of the cluster that operations go by. */
async function ownSecrets(context: BoundContext) {
  const desired = context.store.state.desired?.state;
  return desired?.secrets ?? (await readBootstrap(context))?.answer.secrets ?? {};
}

/** Whether an operation has begun or ended. */
function isKnown({ store: { state } }: BoundContext, id: string): boolean {
  return state.operation?.id === id || Object.hasOwn(state.finished, id);
}

/**
 * The answer to an operation that the state knows nothing of although a destructive step of it may have
 * begun: state.json was lost since. It is never begun anew (operations.md, Files). Null for any other.
 */
async function begunBefore(
  { store, ports }: BoundContext,
  { id, kind, begun_at }: Journal,
  definition: AnyDefinition | null,
): Promise<Journal | null> {
  const isKnown = Object.hasOwn(store.state.finished, id);
  if (isKnown || definition === null || !Object.values(definition.steps).some(isDestructive)) {
    return null;
  }
  const step = await begunStep(ports.disk, id);
  if (step === null) return null;
  const message =
    `its step ${step} had begun when the agent's state was lost, and is never begun ` +
    `anew by itself: look at the node, and ask for a new ${kind} if that is needed`;
  return answered({ id, kind }, { state: "failed", code: "unclear", step, message }, begun_at);
}

/** Whether this node's API being down is what the operation is for: the cluster's answers elsewhere. */
async function isUpElsewhere(
  { store, ports }: BoundContext,
  definition: AnyDefinition | null,
): Promise<boolean> {
  const isAsked = definition?.apiMayBeElsewhere === true && store.state.operation === null;
  if (!isAsked) return false;
  return await answersElsewhere(ports, store.state.kube_system_uid ?? await heldCluster(ports));
}
