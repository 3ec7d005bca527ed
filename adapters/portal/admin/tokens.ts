import * as z from "zod";
import { DnsLabel, Rfc3339, ServerId } from "../../../core/protocol/identifiers.ts";
import { firstCluster } from "../first_cluster.ts";
import { type Answer, json } from "../http/message.ts";
import { issueToken } from "../issue_token.ts";
import { type Call, readCall, unknown } from "./admin.ts";

const NewToken = z.strictObject({
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  server_id: ServerId,
  expires_at: Rfc3339.nullable().default(null),
});

/**
 * `POST /admin/tokens`: a token for a node on a server; cluster and node are made where they are new.
 * The only answer that ever shows a token.
 */
export function createToken(call: Call): Answer {
  const body = readCall(call, NewToken);
  if (!body.ok) return body.error;
  const { cluster_id: id, node_name: nodeName, server_id: serverId } = body.value;
  const { clusters } = call.portal.state;
  const cluster = clusters.get(id) ?? firstCluster(id, call.portal.random);
  clusters.set(id, cluster);
  cluster.nodes.set(nodeName, { serverId });
  const expiresAt = body.value.expires_at === null ? null : Date.parse(body.value.expires_at);
  const token = issueToken(call.portal, { clusterId: id, nodeName, serverId, expiresAt });
  return json(200, { token: token.reveal(), token_sha256: token.hash });
}

/** `POST /admin/agents/{id}/revoke`: from now on every request of this agent is answered 401. */
export function revokeAgent(call: Call): Answer {
  const agent = call.portal.state.agents.get(call.names[0] ?? "");
  if (agent === undefined) return unknown("agent");
  agent.revoked = true;
  call.portal.touch();
  return json(200, {});
}
