import { isLoopbackHost } from "../../../core/protocol/loopback.ts";
import { type Answer, refuse, type WireRequest } from "../http/message.ts";
import type { Admin, AdminHandler } from "./admin.ts";
import { showApprovalText, takeApprovals } from "./approvals.ts";
import { getCluster, patchCluster, patchDesired, putDesired } from "./clusters.ts";
import { instanceId } from "./metadata.ts";
import { deleteOperation, getOperation, queueOperation } from "./operations.ts";
import { guideRestore } from "./restore_guide.ts";
import { deleteRelease, putArtifact, putRelease } from "./releases.ts";
import { addFault, clearFaults, clearRequests, getState, setClock, setOutage } from "./switches.ts";
import { createToken, revokeAgent } from "./tokens.ts";

const INSTANCE_ID = "hetzner/v1/metadata/instance-id";

/** Every call of the admin API; `:` stands for a name. */
const ROUTES: readonly (readonly [string, string, AdminHandler])[] = [
  ["GET", "/admin/state", getState],
  ["GET", "/admin/clusters/:", getCluster],
  ["PATCH", "/admin/clusters/:", patchCluster],
  ["PUT", "/admin/clusters/:/desired", putDesired],
  ["PATCH", "/admin/clusters/:/desired", patchDesired],
  ["POST", "/admin/clusters/:/operations", queueOperation],
  ["GET", "/admin/clusters/:/operations/:", getOperation],
  ["DELETE", "/admin/clusters/:/operations/:", deleteOperation],
  ["POST", "/admin/clusters/:/operations/:/approvals", takeApprovals],
  ["POST", "/admin/clusters/:/approval-text", showApprovalText],
  ["POST", "/admin/clusters/:/restore", guideRestore],
  ["POST", "/admin/tokens", createToken],
  ["POST", "/admin/agents/:/revoke", revokeAgent],
  ["PUT", "/admin/releases/:", putRelease],
  ["DELETE", "/admin/releases/:", deleteRelease],
  ["PUT", "/admin/artifacts/:", putArtifact],
  ["POST", "/admin/faults", addFault],
  ["DELETE", "/admin/faults", clearFaults],
  ["DELETE", "/admin/requests", clearRequests],
  ["PUT", "/admin/clock", setClock],
  ["POST", "/admin/outage", setOutage],
  ["GET", `/${INSTANCE_ID}`, instanceId],
  ["GET", `/metadata/${INSTANCE_ID}`, instanceId],
  ["GET", `/metadata/server/:/${INSTANCE_ID}`, instanceId],
];

/** Answers one call of the admin API or of the metadata service. */
export async function serveAdmin(admin: Admin, request: WireRequest): Promise<Answer> {
  const { body } = request;
  if (body === "too_large") return refuse(413, "body_too_large", "the body is too large");
  // A web page that a person visits must not reach this port under a name of its own.
  const host = (request.headers.get("host") ?? "").replace(/:[0-9]*$/, "");
  if (!isLoopbackHost(host)) return refuse(403, "forbidden", "the host is not loopback");
  const path = request.target.replace(/\?.*$/, "");
  const matches = ROUTES.flatMap(([method, pattern, handler]) => {
    const names = namesIn(pattern, path);
    return names === null ? [] : [{ method, handler, names }];
  });
  const match = matches.find(({ method }) => method === request.method);
  if (match === undefined) {
    return matches.length === 0
      ? refuse(404, "not_found", "the admin API has no such path")
      : refuse(405, "method_not_allowed", matches.map(({ method }) => method).join(", "));
  }
  const { portal } = admin;
  return await match.handler({ admin, portal, names: match.names, request: { ...request, body } });
}

/** The parts of `path` where `pattern` has a colon, or null where they differ elsewhere. */
function namesIn(pattern: string, path: string): string[] | null {
  const expected = pattern.split("/");
  const parts = path.split("/");
  const fits = parts.length === expected.length &&
    expected.every((part, index) => part === ":" || part === parts[index]);
  return fits ? parts.filter((_part, index) => expected[index] === ":") : null;
}
