import * as z from "zod";
import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { isOperationId } from "../../../core/protocol/identifiers.ts";
import { type Answer, json, refuse } from "../http/message.ts";
import { asSent } from "../as_sent.ts";
import { lookupIn } from "../memory.ts";
import { freshId } from "../portal.ts";
import type { QueuedOperation } from "../state.ts";
import { type Call, readCall, unknown } from "./admin.ts";
import { clusterOf } from "./clusters.ts";
import { viewOperation } from "./view.ts";

const QueueOperation = z.strictObject({
  id: z.string().refine(isOperationId, "is no operation ID").optional(),
  kind: z.string(),
  params: z.record(z.string(), z.json()).default({}),
  expires_at: z.string().optional(),
  approvals: z.array(z.json()).optional(),
  node_name: z.string().optional(),
});
const QueueRaw = z.strictObject({ raw: z.json(), node_name: z.string().optional() });

/**
 * `POST /admin/clusters/{id}/operations`: queues an operation for a node, by default the cluster's first.
 * `{"raw": ...}` is offered as it is. An ID that has a result already is offered once more.
 */
export function queueOperation(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, z.union([QueueRaw, QueueOperation]));
  if (!body.ok) return body.error;
  const nodeName = body.value.node_name ?? [...cluster.nodes.keys()][0] ?? "";
  if (!cluster.nodes.has(nodeName)) return unknown("node");

  const offer = offerOf(call, body.value);
  const sent = asSent(call.portal, offer);
  if (!sent.ok && !("raw" in body.value)) {
    const why = `operation: ${sent.error} (as {"raw": ...} it is offered all the same)`;
    return refuse(400, "invalid_request", why);
  }
  const named = isJsonObject(offer) ? offer["id"] : undefined;
  const id = typeof named === "string" && isOperationId(named)
    ? named
    : freshId(call.portal.random, "raw");
  const known = find(call, cluster.id, id);
  if (known !== null) return offerAgain(call, known);
  if (lookupIn(call.portal).operation(id) !== null) {
    return refuse(409, "conflict", "another cluster has an operation of this ID");
  }
  const operation: QueuedOperation = {
    id,
    clusterId: cluster.id,
    nodeName,
    offer,
    offeredAt: null,
    events: [],
    refusedUpTo: 0,
    result: null,
    again: false,
  };
  call.portal.state.operations.push(operation);
  call.portal.touch();
  return json(200, viewOperation(operation));
}

/** `GET /admin/clusters/{id}/operations/{operation}`. */
export function getOperation(call: Call): Answer {
  const operation = find(call, call.names[0] ?? "", call.names[1] ?? "");
  return operation === null ? unknown("operation") : json(200, viewOperation(operation));
}

/** `DELETE /admin/clusters/{id}/operations/{operation}`: forgets it; its events are then answered 404. */
export function deleteOperation(call: Call): Answer {
  const operation = find(call, call.names[0] ?? "", call.names[1] ?? "");
  if (operation === null) return unknown("operation");
  const { operations } = call.portal.state;
  operations.splice(operations.indexOf(operation), 1);
  call.portal.touch();
  return json(200, {});
}

function offerAgain(call: Call, operation: QueuedOperation): Answer {
  if (operation.result === null) {
    return refuse(409, "conflict", "this operation is queued already and has no result yet");
  }
  operation.again = true;
  call.portal.touch();
  return json(200, viewOperation(operation));
}

function offerOf(
  call: Call,
  body: z.infer<typeof QueueRaw> | z.infer<typeof QueueOperation>,
): JsonValue {
  if ("raw" in body) return body.raw as JsonValue;
  const { node_name: _node, ...offer } = body;
  return { ...offer, id: body.id ?? freshId(call.portal.random, "op") } as JsonValue;
}

function find(call: Call, clusterId: string, id: string): QueuedOperation | null {
  return lookupIn(call.portal).operationsOf(clusterId)
    .find((operation) => operation.id === id) ?? null;
}
