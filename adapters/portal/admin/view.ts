import type { JsonValue } from "../../../core/json.ts";
import { portalKeysOf } from "../answer_key.ts";
import { ackedOf } from "../events.ts";
import { describeFault } from "../faults.ts";
import type { Portal } from "../portal.ts";
import { redactDocument } from "../seal_document.ts";
import type { Agent, Cluster, QueuedOperation, StoredRelease } from "../state.ts";
import { tagOf } from "../sync.ts";

/** The whole portal for people and tests, without any secret or token in clear. */
export function viewState(portal: Portal, down: boolean): JsonValue {
  const { state, memory } = portal;
  return {
    time: portal.time(),
    clock_offset_ms: state.clockOffsetMs,
    outage: down,
    portal_keys: portalKeysOf(portal.answerKey),
    clusters: mapOf(state.clusters, (cluster) => viewCluster(portal, cluster)),
    agents: mapOf(state.agents, viewAgent),
    operations: state.operations.map(viewOperation),
    tokens: mapOf(state.tokens, (token) => ({
      cluster_id: token.clusterId,
      node_name: token.nodeName,
      server_id: token.serverId,
      expires_at: timeOf(token.expiresAt),
      used_by: token.used?.agentId ?? null,
    })),
    releases: mapOf(state.releases, viewRelease),
    faults: memory.faults.map((fault) => ({
      ...fault,
      match: { ...fault.match },
      action: describeFault(fault.action),
    } as JsonValue)),
    breaches: memory.breaches as unknown as JsonValue,
    requests: memory.requests as unknown as JsonValue,
  };
}

/** One cluster, its desired state with secrets blacked out. */
export function viewCluster(portal: Portal, cluster: Cluster): JsonValue {
  return {
    nodes: mapOf(cluster.nodes, (node) => ({ server_id: node.serverId })),
    expected_image_sha256: cluster.expectedImageSha256,
    bootstrap: redactDocument(cluster.bootstrap),
    desired: redactDocument(cluster.desired.document),
    desired_raw: cluster.desired.raw,
    desired_tag: tagOf(portal, cluster.desired),
  };
}

/** One operation with all that came of it. */
export function viewOperation(operation: QueuedOperation): JsonValue {
  return {
    id: operation.id,
    cluster_id: operation.clusterId,
    node_name: operation.nodeName,
    offer: redactDocument(operation.offer),
    offered_at: timeOf(operation.offeredAt),
    acked: ackedOf(operation),
    events: operation.events as unknown as JsonValue,
    result: operation.result as JsonValue,
  };
}

function viewAgent(agent: Agent): JsonValue {
  return {
    cluster_id: agent.clusterId,
    node_name: agent.nodeName,
    server_id: agent.serverId,
    arch: agent.arch,
    revoked: agent.revoked,
    enrolled_at: timeOf(agent.enrolledAt),
    last_sync_at: timeOf(agent.lastSyncAt),
    public_keys: { ...agent.keys },
    previous_keys: agent.previous === null ? null : { ...agent.previous },
    report: agent.report,
  };
}

function viewRelease(release: StoredRelease): JsonValue {
  return {
    payload: release.payload,
    signed_by: [...release.signedBy],
    tampered: release.tampered,
    envelope: release.envelope ?? null,
  };
}

function mapOf<T>(map: ReadonlyMap<string, T>, view: (value: T) => JsonValue): JsonValue {
  return Object.fromEntries([...map].map(([key, value]) => [key, view(value)]));
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
