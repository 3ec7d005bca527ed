import { acknowledged, eventsRequest, refusedForGood, stage } from "../operations/outbox.ts";
import { judgeOffer } from "../operations/offer.ts";
import type { Operation } from "../protocol/operation.ts";
import { EventsAnswer } from "../protocol/operation.ts";
import type { Report } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";
import { exchange } from "./exchange.ts";

/** Takes an offered operation in hand: stores what has to be said about it (protocol §5). */
export async function takeOffer(
  context: BoundContext,
  operation: Operation | null,
): Promise<void> {
  const verdict = operation === null ? null : judgeOffer(operation, context.store.state);
  if (verdict?.kind === "invalid_id") {
    await raiseCondition(
      context,
      "invalid_operation",
      "the offered operation's id has characters that an id must not have; it is not used",
    );
    return;
  }
  await clearConditions(context, "invalid_operation");
  if (verdict?.kind !== "report") return;
  const { report } = verdict;
  const now = correctedNow(context);
  const stored = await context.store.commit((state) => stage(state, report, now));
  if (!stored.ok) {
    context.ports.log.write("error", "operation_not_stored", stored.error.message);
    return;
  }
  context.ports.log.write(
    "info",
    "operation_answered",
    `operation ${report.id} (${report.kind}) is answered with ${report.result?.state}`,
    { operation: report.id, state: report.result?.state },
  );
}

/** Sends what the portal has not acknowledged yet. Tells whether the agent must end what it does. */
export async function sendEvents(context: BoundContext): Promise<"done" | "stop" | "aborted"> {
  const report = context.store.state.operation;
  if (report === null) return "done";
  const outcome = await exchange(context, {
    channel: "events",
    method: "POST",
    path: `/operations/${report.id}/events`,
    body: JSON.parse(JSON.stringify(eventsRequest(report))),
  });
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
      await context.channels.succeeded("events");
      await clearConditions(context, "report_rejected");
      await setReport(context, acknowledged(report, answer.data.acked));
      return "done";
    }
    case "back_off":
    case "give_up":
      if (outcome.code === "unknown_operation") {
        context.ports.log.write("warn", "unknown_operation", `the portal knows no ${report.id}`);
        await context.channels.succeeded("events");
        await setReport(context, null);
      } else if (outcome.do === "give_up") {
        await givenUp(context, report, outcome.message);
      }
      return "done";
  }
}

async function givenUp(context: BoundContext, report: Report, message: string): Promise<void> {
  const left = refusedForGood(report);
  if (left === null) {
    await raiseCondition(
      context,
      "report_rejected",
      `the portal refuses the result of operation ${report.id}: ${message}`,
    );
  } else {
    context.ports.log.write("warn", "events_discarded", `operation ${report.id}: ${message}`);
  }
  await setReport(context, left);
}

async function setReport(context: BoundContext, report: Report | null): Promise<void> {
  await context.store.keep((state) => ({ ...state, operation: report }));
}
