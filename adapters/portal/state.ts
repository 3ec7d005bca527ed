import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Arch, PublicKeys } from "../../core/protocol/enroll.ts";
import type { OperationEvent, OperationResult } from "../../core/protocol/operation.ts";

/** Everything that the portal remembers across restarts. Times are milliseconds since the epoch. */
export interface PortalState {
  /** Random text that makes tags opaque: nobody can guess a secret by hashing. */
  readonly salt: string;
  /** Base64 of the 32-byte Ed25519 seed that signs answers; a state from before has none. */
  answerSeed?: string;
  clockOffsetMs: number;
  /** By cluster ID. */
  readonly clusters: Map<string, Cluster>;
  /** By lower-case hex SHA-256 of the token; the token itself is not kept. */
  readonly tokens: Map<string, Token>;
  /** By agent ID. */
  readonly agents: Map<string, Agent>;
  /** In the order in which they were queued. */
  readonly operations: QueuedOperation[];
  /** By version. */
  readonly releases: Map<string, StoredRelease>;
}

/** A cluster as its owner set it up. Secrets stand in clear as `{"plain": "..."}`. */
export interface Cluster {
  readonly id: string;
  /** Node names and the server that each of them is. */
  readonly nodes: Map<string, { serverId: string }>;
  /** The boot image that an agent must have booted to enroll, or null for any. */
  expectedImageSha256: string | null;
  /** `release`, `k3s`, `secrets` and `manifests` of the answer to an enrollment. */
  bootstrap: JsonObject;
  desired: DesiredSetting;
}

/** The desired state that a cluster's agents are told. */
export interface DesiredSetting {
  /** Null: the portal has none yet and answers `desired: null`. */
  document: JsonValue;
  /** Sent without any check of its shape. */
  raw: boolean;
  /** Sent in place of the tag that the content gives. */
  tag: JsonValue | undefined;
}

/** An enrollment token, for one node on one server. */
export interface Token {
  readonly clusterId: string;
  readonly nodeName: string;
  readonly serverId: string;
  readonly expiresAt: number | null;
  /** Whose it became, and the answer without `time`, which is given again to the same asker. */
  used: { readonly agentId: string; readonly keys: PublicKeys; readonly answer: JsonObject } | null;
}

/** An agent that has enrolled. */
export interface Agent {
  readonly id: string;
  readonly clusterId: string;
  readonly nodeName: string;
  readonly serverId: string;
  readonly arch: Arch;
  readonly enrolledAt: number;
  /** What the portal seals to, and what new requests are signed with. */
  keys: PublicKeys;
  /** During a rotation the pair before; its signatures count until the new key has signed a sync. */
  previous: PublicKeys | null;
  /** Signing keys of earlier pairs: never taken again. */
  readonly retired: string[];
  revoked: boolean;
  lastSyncAt: number | null;
  /** The last sync's body. */
  report: JsonValue;
}

/** An operation for one node. */
export interface QueuedOperation {
  /** The ID that is offered; the portal's own one where a raw offer has no usable ID. */
  readonly id: string;
  readonly clusterId: string;
  readonly nodeName: string;
  /** What stands in the sync answer, secrets in clear as `{"plain": "..."}`. */
  offer: JsonValue;
  offeredAt: number | null;
  /** In the order of `seq`. */
  readonly events: OperationEvent[];
  /** The highest sequence number that came in a request which was answered 400. */
  refusedUpTo: number;
  result: OperationResult | null;
  /** Offered although its result is known, to see the agent send the stored one. */
  again: boolean;
}

/** A release and how its envelope is made. */
export interface StoredRelease {
  /** The payload's JSON, or its bytes as text. `{portal}` in an artifact's URL becomes the origin. */
  readonly payload: JsonValue;
  readonly signedBy: readonly ReleaseSigner[];
  /** Changes the payload after it was signed. */
  readonly tampered: boolean;
  /** Sent verbatim in place of an envelope. */
  readonly envelope?: JsonValue;
}

/**
 * Who signs a release. `first`, `second`: the lab's release keys. `stranger`: a key that nobody trusts.
 * `impostor`: that key under the first lab key's ID.
 */
export const RELEASE_SIGNERS = ["first", "second", "stranger", "impostor"] as const;
/** One of them. */
export type ReleaseSigner = typeof RELEASE_SIGNERS[number];

/** A portal that knows nobody yet. */
export function emptyState(salt: string): PortalState {
  return {
    salt,
    clockOffsetMs: 0,
    clusters: new Map(),
    tokens: new Map(),
    agents: new Map(),
    operations: [],
    releases: new Map(),
  };
}

/** The cluster of a token, agent or operation; clusters are never removed, so it is there. */
export function clusterOf(state: PortalState, id: string): Cluster {
  const cluster = state.clusters.get(id);
  if (cluster === undefined) throw new Error(`the portal's state has no cluster ${id}`);
  return cluster;
}

/** The agent that is a cluster's node now; a revoked one is not. */
export function activeAgent(state: PortalState, clusterId: string, nodeName: string): Agent | null {
  for (const agent of state.agents.values()) {
    if (agent.clusterId === clusterId && agent.nodeName === nodeName && !agent.revoked) {
      return agent;
    }
  }
  return null;
}
