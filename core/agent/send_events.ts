import { acknowledged, eventsRequest, isOwed, refusedForGood } from "../operations/outbox.ts";
import { EventsAnswer, type EventsRequest } from "../protocol/operation.ts";
import type { Journal } from "../state/journal.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import { exchange, type SignedRequest, wasRefused } from "./exchange.ts";

/**
 * What was sent last and not answered for good. It is sent again as it was, although the operation has
 * more to tell meanwhile: a request that is refused three times is told by its body (protocol §1, §5).
 */
export interface InFlight {
  request: { readonly id: string; readonly body: EventsRequest } | null;
}

/** Sends what the portal has not acknowledged yet. Tells whether the agent must end what it does. */
export async function sendEvents(
  context: BoundContext,
  inFlight: InFlight,
): Promise<"done" | "stop" | "aborted"> {
  const journal = context.store.state.operation;
  if (journal === null || !isOwed(journal)) return "done";
  const again = inFlight.request?.id === journal.id ? inFlight.request.body : null;
  const sent = again ?? eventsRequest(journal);
  if (sent === null) return "done";
  inFlight.request = { id: journal.id, body: sent };
  const outcome = await exchange(context, requestOf(journal.id, sent));
  switch (outcome.do) {
    case "stop":
    case "aborted":
      return outcome.do;
    case "wait":
    case "update":
      return "done";
    case "apply": {
      const answer = EventsAnswer.safeParse(outcome.body);
      if (!answer.success) {
        await context.channels.failed("events");
        context.ports.log.write("warn", "malformed_answer", "the answer to events has no 'acked'");
        return "done";
      }
      inFlight.request = null;
      const { acked } = answer.data;
      if (sent.events.some(({ seq }) => seq > acked)) {
        // Sent again later, not at once: a portal that takes nothing is in trouble of its own.
        await context.channels.failed("events");
        context.ports.log.write("warn", "events_not_taken", `${journal.id}: only up to ${acked}`);
      } else {
        await context.channels.succeeded("events");
        await clearConditions(context, "report_rejected");
      }
      await change(context, journal.id, (now) => acknowledged(now, sent, acked));
      return "done";
    }
    case "back_off":
    case "give_up":
      if (outcome.code === "unknown_operation") {
        inFlight.request = null;
        await discard(context, journal.id);
      } else if (outcome.do === "give_up") {
        inFlight.request = null;
        await givenUp(context, journal, sent, outcome.message);
      }
      return "done";
  }
}

/**
 * Whether the portal refused this result for good since the agent's start, whole and alone, so that it
 * cannot go again.
 */
export async function wasGivenUp(context: BoundContext, journal: Journal): Promise<boolean> {
  for (const result_alone of [false, true]) {
    const request = eventsRequest({ ...journal, result_alone });
    if (request === null) return false;
    if (!await wasRefused(context, requestOf(journal.id, request))) return false;
  }
  return true;
}

function requestOf(id: string, sent: EventsRequest): SignedRequest {
  return {
    channel: "events",
    method: "POST",
    path: `/operations/${id}/events`,
    body: JSON.parse(JSON.stringify(sent)),
  };
}

/**
 * The portal knows no such operation: what is left to say is discarded. One that still runs goes on to
 * its end, and its result is kept.
 */
async function discard(context: BoundContext, id: string): Promise<void> {
  context.ports.log.write("warn", "unknown_operation", `the portal knows no operation ${id}`);
  await context.channels.succeeded("events");
  await change(context, id, (now) => now.result === undefined ? { ...now, events: [] } : null);
}

async function givenUp(
  context: BoundContext,
  journal: Journal,
  sent: EventsRequest,
  message: string,
): Promise<void> {
  const { id } = journal;
  if (refusedForGood(journal, sent) === null) {
    await raiseCondition(
      context,
      "report_rejected",
      `the portal refuses the result of operation ${id}: ${message}`,
    );
  } else {
    context.ports.log.write("warn", "events_discarded", `operation ${id}: ${message}`);
  }
  await change(context, id, (now) => refusedForGood(now, sent));
}

/** Changes the journal as it is now: the operation may have gone on meanwhile. */
async function change(
  context: BoundContext,
  id: string,
  to: (journal: Journal) => Journal | null,
): Promise<void> {
  await context.store.keep((state) =>
    state.operation?.id === id ? { ...state, operation: to(state.operation) } : state
  );
}
