import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { EventsRequest, type OperationResult } from "../../core/protocol/operation.ts";
import type { Signer } from "./authenticate.ts";
import type { Asker } from "./breach.ts";
import { type Answer, json, refuse } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import { readDocument } from "./read_document.ts";
import type { Agent, QueuedOperation } from "./state.ts";

/** `POST /operations/{id}/events` (protocol §5). */
export function events(
  portal: Portal,
  asker: Asker,
  signer: Signer,
  id: string,
  body: Uint8Array,
): Answer {
  const operation = offeredTo(portal, signer.agent, id);
  if (operation === null) {
    return refuse(404, "unknown_operation", "this agent was never offered that operation");
  }
  const document = readDocument(portal, asker, body, EventsRequest);
  const fault = document.ok ? faultOf(operation, document.value.value) : document.error;
  if (fault !== null || !document.ok) return refuse(400, "invalid_request", fault ?? "");

  const request = document.value.value;
  const acked = ackedOf(operation);
  operation.events.push(...request.events.filter((event) => event.seq > acked));
  if (request.result !== undefined) {
    operation.result ??= request.result;
    operation.again = false;
  }
  portal.touch();
  return json(200, { acked: ackedOf(operation) });
}

/** The highest sequence number taken so far, 0 if none. */
export function ackedOf(operation: QueuedOperation): number {
  return operation.events.at(-1)?.seq ?? 0;
}

/**
 * Notes that a request was answered 400. The agent may discard its events after the third time and go on
 * with the numbers behind them (protocol §5), so that gap is then none of its faults.
 */
export function noteRefused(operation: QueuedOperation, body: Uint8Array): void {
  const parsed = parseBody(body);
  if (!parsed.ok || !isJsonObject(parsed.value)) return;
  const sent = parsed.value["events"];
  if (!Array.isArray(sent)) return;
  for (const event of sent as JsonValue[]) {
    const seq = isJsonObject(event) ? event["seq"] : undefined;
    if (typeof seq === "number" && Number.isSafeInteger(seq)) {
      operation.refusedUpTo = Math.max(operation.refusedUpTo, seq);
    }
  }
}

/** An operation that was offered to this agent's node, or null. */
export function offeredTo(portal: Portal, agent: Agent, id: string): QueuedOperation | null {
  const operation = lookupIn(portal).operation(id);
  if (operation === null || operation.offeredAt === null) return null;
  const own = operation.clusterId === agent.clusterId && operation.nodeName === agent.nodeName;
  return own ? operation : null;
}

function faultOf(operation: QueuedOperation, request: EventsRequest): string | null {
  return faultOfEvents(operation, request) ??
    (request.result === undefined ? null : faultOfResult(operation, request, request.result));
}

function faultOfEvents(operation: QueuedOperation, request: EventsRequest): string | null {
  if (request.events.length === 0 && request.result === undefined) {
    return "events: empty, and no result either";
  }
  const acked = ackedOf(operation);
  let last: number | null = null;
  for (const event of request.events) {
    if (last !== null && event.seq !== last + 1) return `events: ${event.seq} follows on ${last}`;
    last = event.seq;
    const stored = operation.events.find(({ seq }) => seq === event.seq);
    if (stored === undefined && event.seq <= acked) continue;
    if (stored !== undefined && canonical(stored) !== canonical(event)) {
      return `events: number ${event.seq} had another content before`;
    }
  }
  const first = request.events[0]?.seq ?? 0;
  if (first > acked + 1 && first > operation.refusedUpTo + 1) {
    return `events: ${first} comes, ${acked + 1} is still missing`;
  }
  const isNew = last !== null && last > acked;
  return isNew && operation.result !== null ? "events: new ones after the result" : null;
}

function faultOfResult(
  operation: QueuedOperation,
  request: EventsRequest,
  result: OperationResult,
): string | null {
  const withoutRun = result.state === "refused" || result.state === "unsupported";
  if (withoutRun && request.events.length > 0) {
    return `result: an operation that is ${result.state} has no events`;
  }
  if (result.code !== undefined && !/^[a-z][a-z0-9_]*$/.test(result.code)) {
    return "result.code: must be snake_case";
  }
  if (operation.result === null || isSameResult(operation.result, result)) return null;
  return "result: had another content before";
}

/** The same, or the same without log and output, as it is sent after a third refusal. */
function isSameResult(stored: OperationResult, sent: OperationResult): boolean {
  const { log_tail: _log, output: _output, ...bare } = stored;
  return canonical(stored) === canonical(sent) || canonical(bare) === canonical(sent);
}

/** JSON with its keys in order, to compare by content. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, item) =>
      typeof item === "object" && item !== null && !Array.isArray(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => a < b ? -1 : 1))
        : item,
  );
}
