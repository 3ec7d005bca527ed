import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { definitionOf } from "../../core/operations/registry.ts";
import { isOperationId, Rfc3339 } from "../../core/protocol/identifiers.ts";
import { EventsAnswer, Operation } from "../../core/protocol/operation.ts";
import { scanSyncAnswer } from "../../core/protocol/secret_positions.ts";
import { judgeDocument, judgeSecrets } from "./documents.ts";
import { ACCEPTED, refusal, REFUSED } from "./expected.ts";
import { findingOf, type Kit, type Player } from "./kit.ts";
import { reportOf } from "./report_body.ts";
import type { RuleId } from "./rules.ts";
import type { Exchange } from "./wire.ts";

/** Every kind of operation that the protocol has (operations of version 1). */
const KINDS: readonly string[] = [
  "snapshot.save",
  "cluster.restore",
  "cluster.upgrade",
  "access.issue",
  "access.revoke",
  "agent.rotate_key",
  "s3.verify",
  "diag.collect",
  "server.rejoin",
  "node.drain",
  "node.forget",
];
const AT = "2026-01-01T00:00:00Z";

/** Two operations that are offered, and their events. Nothing is carried out. */
export async function walkOperations(kit: Kit, player: Player): Promise<void> {
  const nobody = await events(kit, player, "pbx-conformance-none", { events: [event(1)] });
  kit.expect("events.unknown", nobody, refusal(404, "unknown_operation"));

  const offered = await nextOffer(kit, player);
  if (offered === null) return;
  const id = judgeOffer(kit, player, offered);
  if (id === null) return;
  const again = await kit.ask(player, {
    path: "/sync",
    body: reportOf(kit, player),
    as: "before the operation has a result",
  });
  if (kit.expect("operation.again", again, ACCEPTED) && offerIn(again)?.["id"] !== id) {
    kit.book.fail("operation.again", findingOf(again, `operation ${id}`, "another one, or none"));
  }
  if (kit.second !== null) {
    const foreign = await events(kit, kit.second, id, { events: [event(1)] }, "by another agent");
    kit.expect("events.other_agent", foreign, REFUSED);
  }
  await report(kit, player, id);
  const next = await nextOffer(kit, player);
  const nextId = next === null ? undefined : offerIn(next)?.["id"];
  if (typeof nextId === "string" && nextId !== id) await reportResultOnly(kit, player, nextId);
}

/** The answer to a sync that offers an operation; the portal's owner is asked for one if there is none. */
async function nextOffer(kit: Kit, player: Player): Promise<Exchange | null> {
  const sync = () => kit.ask(player, { path: "/sync", body: reportOf(kit, player) });
  let exchange = await sync();
  if (offerIn(exchange) === null && await kit.options.hands?.offer(player.entry) === true) {
    exchange = await sync();
  }
  return offerIn(exchange) === null ? null : exchange;
}

function offerIn({ answer }: Exchange): JsonObject | null {
  const operation = isJsonObject(answer?.json) ? answer.json["operation"] : undefined;
  return isJsonObject(operation) ? operation : null;
}

/** The operation's ID, or null where it has none that can be used. */
function judgeOffer(kit: Kit, player: Player, exchange: Exchange): string | null {
  const operation = offerIn(exchange);
  if (operation === null) return null;
  const found = scanSyncAnswer({ operation });
  const rules = { sealed: "sealing.operation", opens: "sealing.operation_opens" } as const;
  judgeSecrets(kit, rules, found, [player.keys.sealing], exchange);
  judgeDocument(kit, "operation.schema", Operation, operation, exchange);
  const { id, kind, params, expires_at: expires } = operation;
  if (expires !== undefined && !Rfc3339.safeParse(expires).success) {
    kit.book.fail("times.rfc3339", findingOf(exchange, "expires_at in RFC 3339", "no time"));
  }
  if (typeof kind === "string" && !KINDS.includes(kind)) {
    kit.book.fail("operation.schema", findingOf(exchange, `one of ${KINDS.join(", ")}`, kind));
  }
  const definition = definitionOf(String(kind));
  if (definition !== null && found.ok) {
    judgeDocument(kit, "operation.params", definition.params, params, exchange);
  }
  if (typeof id === "string" && isOperationId(id)) return id;
  const pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";
  kit.book.fail("identifiers", findingOf(exchange, `an operation's ID: ${pattern}`, "another ID"));
  return null;
}

/** A whole life of events: one, more, the same again, some old ones beside a new one, the result. */
async function report(kit: Kit, player: Player, id: string): Promise<void> {
  const send = async (rule: RuleId, as: string, acked: number, body: JsonObject) => {
    const exchange = await events(kit, player, id, body, as);
    if (kit.expect(rule, exchange, ACCEPTED)) judgeAcked(kit, "events.acked", exchange, acked);
  };
  await send("events.acked", "event 1", 1, { events: [event(1)] });
  await send("events.acked", "events 2 and 3", 3, { events: [event(2), event(3)] });
  await send("events.repeated", "events 2 and 3 again", 3, { events: [event(2), event(3)] });
  await send("events.repeated", "event 3 again beside 4", 4, { events: [event(3), event(4)] });
  await send("events.every_event", "events 5 to 7 with all that there is", 7, {
    events: [
      event(5, { progress: { done: 0, total: null, unit: "bytes" }, message: "größer: ✓" }),
      event(6, { progress: { done: 3, total: 4, unit: "items" } }),
      event(7, { state: "failed", step: null, message: "" }),
    ],
  });
  const result = {
    state: "failed",
    step: "save",
    code: "conformance",
    message: "the conformance kit carries nothing out",
    log_tail: Array.from({ length: 200 }, (_line, index) => `line ${index + 1}`),
    output: { nothing: null, nested: { list: [1, 2, 3] } },
  };
  const last = { events: [event(8, { state: "failed" })], result };
  await send("events.every_event", "event 8 and a result with all that there is", 8, last);
  await send("events.result_repeated", "the same result again", 8, last);
}

async function reportResultOnly(kit: Kit, player: Player, id: string): Promise<void> {
  const exchange = await events(kit, player, id, {
    events: [],
    result: { state: "refused", code: "expired", message: "by the conformance kit" },
  }, "a result without events");
  if (!kit.expect("events.result_alone", exchange, ACCEPTED)) return;
  judgeAcked(kit, "events.result_alone", exchange, 0);
}

function judgeAcked(kit: Kit, rule: RuleId, exchange: Exchange, acked: number): void {
  const answer = EventsAnswer.safeParse(exchange.answer?.json);
  if (answer.success && answer.data.acked === acked) return kit.book.pass(rule);
  const came = answer.success ? `acked: ${answer.data.acked}` : "no number in acked";
  kit.book.fail(rule, findingOf(exchange, `acked: ${acked}`, came));
}

function events(
  kit: Kit,
  player: Player,
  id: string,
  body: JsonValue,
  as = "",
): Promise<Exchange> {
  return kit.ask(player, { path: `/operations/${id}/events`, body, as });
}

function event(seq: number, changes: JsonObject = {}): JsonObject {
  return { seq, at: AT, step: "save", state: seq === 1 ? "started" : "progress", ...changes };
}
