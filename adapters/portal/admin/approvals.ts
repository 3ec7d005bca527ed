import * as z from "zod";
import { isJsonObject, type JsonValue } from "../../../core/json.ts";
import { Approval } from "../../../core/protocol/approval.ts";
import { approvalTexts } from "../../../core/protocol/approval_request.ts";
import { type Answer, json, refuse } from "../http/message.ts";
import { lookupIn } from "../memory.ts";
import { type Call, readCall, unknown } from "./admin.ts";
import { clusterOf } from "./clusters.ts";
import { storedRelease } from "./releases.ts";
import { viewOperation } from "./view.ts";

const AskText = z.strictObject({
  node: z.string(),
  expires: z.string(),
  /** This queued operation; the desired state without it. */
  operation: z.string().optional(),
  /** The desired state that the node has accepted, to compare with. */
  accepted: z.json().optional(),
  older_release: z.strictObject({
    from: z.record(z.string(), z.json()),
    to: z.record(z.string(), z.json()),
  }).optional(),
});

/** `POST /admin/clusters/{id}/approval-text`: the texts that the owner signs for what is queued or wanted. */
export function showApprovalText(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, AskText);
  if (!body.ok) return body.error;
  const { node, expires, operation, accepted, older_release } = body.value;
  const queued = operation === undefined ? null : find(call, operation);
  if (operation !== undefined && queued === null) return unknown("operation");
  const texts = approvalTexts(queued === null ? cluster.desired.document : queued.offer, {
    cluster: cluster.id,
    node,
    expires,
    accepted: (accepted ?? (queued === null ? null : cluster.desired.document)) as JsonValue,
    namedRegistries: namedBy(call, cluster.desired.document),
    olderRelease: (older_release ?? null) as Parameters<typeof approvalTexts>[1]["olderRelease"],
  });
  return texts.ok ? json(200, { texts: texts.value as unknown as JsonValue }) : refuse(
    400,
    "invalid_request",
    texts.error,
  );
}

/** `POST /admin/clusters/{id}/operations/{operation}/approvals`: signatures that are offered with it. */
export function takeApprovals(call: Call): Answer {
  const operation = find(call, call.names[1] ?? "");
  if (operation === null) return unknown("operation");
  const body = readCall(call, z.strictObject({ approvals: z.array(Approval) }));
  if (!body.ok) return body.error;
  if (!isJsonObject(operation.offer)) return refuse(400, "invalid_request", "it is a raw offer");
  const before = operation.offer["approvals"];
  const approvals = [
    ...(Array.isArray(before) ? before : []),
    ...body.value.approvals as unknown as JsonValue[],
  ];
  operation.offer = { ...operation.offer, approvals };
  call.portal.touch();
  return json(200, viewOperation(operation));
}

/** The registries that the release of a desired state names. */
function namedBy(call: Call, document: JsonValue): readonly string[] {
  const version = isJsonObject(document) ? document["release"] : undefined;
  const release = typeof version === "string" ? storedRelease(call.portal, version) : null;
  return release?.k3s?.registries ?? [];
}

function find(call: Call, id: string) {
  return lookupIn(call.portal).operationsOf(call.names[0] ?? "").find((one) => one.id === id) ??
    null;
}
