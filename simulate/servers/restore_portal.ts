import type { FakePeer } from "../../adapters/fake/http.ts";
import { createFakeRandom } from "../../adapters/fake/random.ts";
import { guideRestore } from "../../adapters/portal/admin/restore_guide.ts";
import { admitAgent } from "../../adapters/portal/admit_agent.ts";
import { firstCluster } from "../../adapters/portal/first_cluster.ts";
import { FIRST_RELEASE, firstRelease } from "../../adapters/portal/first_release.ts";
import type { Answer } from "../../adapters/portal/http/message.ts";
import { createPortalInProcess } from "../../adapters/portal/in_process.ts";
import type { Portal } from "../../adapters/portal/portal.ts";
import { serve } from "../../adapters/portal/serve.ts";
import {
  type Agent,
  type Cluster,
  emptyState,
  type QueuedOperation,
} from "../../adapters/portal/state.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { PublicKeys } from "../../core/protocol/enroll.ts";
import type { verify } from "../../core/protocol/signing.ts";
import type { Secret } from "../../core/secret.ts";
import { wireRequest } from "../virtual/wire_request.ts";
import { desiredWith } from "./desired.ts";
import { BUCKET, CLUSTER } from "./machine.ts";
import { TOKEN } from "./server_k3s.ts";

/** What the fake portal's guide answers; which member is there depends on `next` (docs/portal.md). */
export interface Guidance {
  readonly next: "stop_others" | "start" | "wait" | "failed" | "done";
  readonly node?: string;
  readonly nodes?: readonly string[];
  readonly operation?: string;
  readonly message?: string;
}

/** The fake portal's rules, without a socket, for one cluster of several servers. */
export interface RestorePortal {
  readonly portal: Portal;
  /** Nobody reaches it while true. */
  isAway: boolean;
  /** A server's agent, as if it had enrolled. */
  admit(server: string, agentId: string, keys: PublicKeys): void;
  peer(server: string): FakePeer;
  /** Queues an operation. */
  offer(server: string, id: string, kind: string): void;
  /** Every operation so far. */
  operations(): readonly QueuedOperation[];
  /** `POST /admin/clusters/{id}/restore`. */
  guide(id: string, params: JsonObject, again: boolean): Promise<Guidance>;
  /** The servers that were heard of just now, and whose last report says that they lead. */
  leaders(): readonly string[];
  /** How many different results came in for an operation. */
  resultsOf(id: string): number;
  /** Requests that the portal's rules refused, and other rules of the protocol that an agent broke. */
  breaches(): readonly string[];
}

/** What it is made of. */
export interface RestorePortalOptions {
  readonly clock: Clock;
  /** How many servers the cluster has. */
  readonly size: number;
  readonly releaseKeys: readonly [Secret<Uint8Array>, Secret<Uint8Array>];
  readonly verify: typeof verify;
}

/** A report is no news any more after so long, milliseconds: three cycles. */
const SILENT_MS = 105_000;

/** A portal that knows the cluster, and none of its agents yet. */
export function createRestorePortal(options: RestorePortalOptions): RestorePortal {
  const { clock, size, releaseKeys } = options;
  const state = emptyState(CLUSTER);
  const random = createFakeRandom(9);
  const cluster = clusterOf(size);
  state.clusters.set(CLUSTER, cluster);
  state.releases.set(FIRST_RELEASE, firstRelease());
  const portal = createPortalInProcess({
    state,
    clock,
    random,
    releaseKeys,
    verify: options.verify,
  });
  const results = new Map<string, Set<string>>();
  const refused: string[] = [];

  /** Answers an agent's request, and notes what it brings. */
  function answer(request: HttpRequest): Answer {
    const wire = wireRequest(request, "0.1.0");
    const id = /\/operations\/([^/]+)\/events$/.exec(wire.target)?.[1];
    if (id !== undefined) {
      const { result } = JSON.parse(new TextDecoder().decode(wire.body));
      const seen = results.get(id) ?? new Set();
      if (result !== undefined) results.set(id, seen.add(JSON.stringify(result)));
    }
    const given = serve(portal, wire);
    if (given.status >= 400) {
      const why = new TextDecoder().decode(given.body);
      refused.push(`${wire.method} ${wire.target} was answered ${given.status}: ${why}`);
    }
    return given;
  }

  const admin = { portal, outage: () => Promise.resolve(), isDown: () => restore.isAway };

  const restore: RestorePortal = {
    portal,
    isAway: false,
    admit(server, agentId, keys) {
      const serverId = "4711001";
      cluster.nodes.set(server, { serverId });
      const id = agentId;
      admitAgent(portal, {
        id,
        clusterId: CLUSTER,
        nodeName: server,
        serverId,
        arch: "amd64",
        keys,
      });
    },
    peer: () => (request) => {
      if (restore.isAway) return { error: "connect" };
      return answer(request);
    },
    offer(server, id, kind) {
      state.operations.push({
        id,
        clusterId: CLUSTER,
        nodeName: server,
        offer: { id, kind, params: {} },
        offeredAt: null,
        events: [],
        refusedUpTo: 0,
        result: null,
        again: false,
      });
    },
    operations: () => state.operations,
    async guide(id, params, again) {
      const body = new TextEncoder().encode(JSON.stringify({ id, params, again }));
      const target = `/admin/clusters/${CLUSTER}/restore`;
      const request = { method: "POST", target, headers: new Map<string, string>(), body };
      const answer = await guideRestore({ admin, portal, names: [CLUSTER], request });
      const text = new TextDecoder().decode(answer.body);
      if (answer.status !== 200) throw new Error(`the guide answers ${answer.status}: ${text}`);
      return JSON.parse(text);
    },
    leaders: () =>
      [...state.agents.values()].filter((agent) =>
        agent.lastSyncAt !== null && clock.now() - agent.lastSyncAt < SILENT_MS && leads(agent)
      ).map(({ nodeName }) => nodeName),
    resultsOf: (id) => results.get(id)?.size ?? 0,
    breaches: () => [
      ...refused,
      ...portal.memory.breaches.map(({ rule, message }) => `${rule}: ${message}`),
    ],
  };
  return restore;
}

function leads({ report }: Agent): boolean {
  const node = isJsonObject(report) ? report["node"] : undefined;
  return isJsonObject(node) && node["leader"] === true;
}

function clusterOf(size: number): Cluster {
  const cluster = firstCluster(CLUSTER, createFakeRandom(3));
  const secrets = {
    hcloud: { token: { plain: "the-token" }, network: "net" },
    etcd_s3: {
      endpoint: BUCKET.endpoint,
      bucket: BUCKET.bucket,
      region: BUCKET.region,
      folder: CLUSTER,
      access_key: { plain: BUCKET.accessKey.reveal() },
      secret_key: { plain: BUCKET.secretKey.reveal() },
    },
  };
  const { bootstrap, desired } = cluster;
  cluster.bootstrap = {
    ...bootstrap,
    k3s: { config: {}, token: { plain: TOKEN } },
    secrets,
  };
  desired.document = { ...desiredWith(size), revision: 2, secrets } as unknown as JsonObject;
  return cluster;
}
