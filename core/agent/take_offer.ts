import { begunStep } from "../operations/begun_mark.ts";
import { type AnyDefinition, isDestructive } from "../operations/definition.ts";
import { answered } from "../operations/journal.ts";
import { judgeOffer } from "../operations/offer.ts";
import { withJournal } from "../operations/outbox.ts";
import { definitionOf } from "../operations/registry.ts";
import { answersElsewhere } from "../operations/rejoin/target.ts";
import { heldCluster } from "../operations/restore/hold.ts";
import type { OfferedOperation } from "../protocol/operation.ts";
import { otherCluster } from "../state/custody.ts";
import type { Journal } from "../state/journal.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition, witnesses } from "./context.ts";
import { custodyOfNode } from "./custody.ts";
import { wasGivenUp } from "./send_events.ts";

/**
 * Takes an offered operation in hand (protocol §5): stored before anything of it begins. Events are sent
 * and the engine runs beside the cycles. `find` is the registry.
 */
export async function takeOffer(
  context: BoundContext,
  operation: OfferedOperation | null,
  apiUp: boolean,
  find = definitionOf,
): Promise<void> {
  const seen = witnesses(context);
  const definition = operation === null ? null : find(operation.kind);
  const isUp = apiUp || await isUpElsewhere(context, definition);
  const verdict = operation === null
    ? null
    : judgeOffer(operation, context.store.state, definition, {
      apiUp: isUp,
      otherCluster: otherCluster(await custodyOfNode(context)),
      witnesses: seen,
    });
  if (verdict?.kind === "invalid_id") {
    await raiseCondition(
      context,
      "invalid_operation",
      "the offered operation's id has characters that an id must not have; it is not used",
    );
    return;
  }
  await clearConditions(context, "invalid_operation");
  if (verdict?.kind !== "take") return;
  const journal = await begunBefore(context, verdict.journal, definition) ?? verdict.journal;
  // Taken once more it would only hold up the next operation: it cannot be sent before a restart.
  if (journal.result !== undefined && wasGivenUp(context, journal)) return;
  const stored = await context.store.commit((state) => withJournal(state, journal, seen));
  if (!stored.ok) {
    context.ports.log.write("error", "operation_not_stored", stored.error.message);
    return;
  }
  const { id, kind, result } = journal;
  const what = result === undefined ? "begins" : `is answered with ${result.state}`;
  context.ports.log.write("info", "operation_taken", `operation ${id} (${kind}) ${what}`, {
    operation: id,
    kind,
    ...(result === undefined ? {} : { state: result.state }),
  });
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
