import type { AnswerKey } from "../../adapters/portal/answer_key.ts";
import { noteRefused } from "../../adapters/portal/events.ts";
import { firstCluster } from "../../adapters/portal/first_cluster.ts";
import type { Answer } from "../../adapters/portal/http/message.ts";
import { issueToken } from "../../adapters/portal/issue_token.ts";
import { createPortalInProcess } from "../../adapters/portal/in_process.ts";
import type { Portal } from "../../adapters/portal/portal.ts";
import { prove } from "../../adapters/portal/prove.ts";
import { serve } from "../../adapters/portal/serve.ts";
import {
  type Cluster,
  emptyState,
  type QueuedOperation,
  type StoredRelease,
} from "../../adapters/portal/state.ts";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import type { Random } from "../../core/ports/random.ts";
import type { Secret } from "../../core/secret.ts";
import { wireRequest } from "./wire_request.ts";

/** Where the simulated portal's artifacts are. */
export const ORIGIN = "https://agents.example.com";
/** Where the simulated portal is. */
export const PORTAL = `${ORIGIN}/agent/v1`;

/**
 * The fake portal's rules for one cluster with one node. Every cluster has a portal of its own in the
 * simulation: clusters know nothing of each other, and what one of them does changes no other's life.
 */
export interface ClusterPortal {
  readonly portal: Portal;
  readonly cluster: Cluster;
  /** The enrollment token. */
  readonly token: string;
  /** Answers a request as the rules say. */
  answer(request: HttpRequest, version: string): Answer;
  /** Queues an operation. */
  offer(operation: JsonObject & { readonly id: string }): QueuedOperation;
  /**
   * Forgets what it knows of an operation, and offers it as if it were new: the portal has lost its data.
   */
  forget(operation: QueuedOperation): void;
  /** Either side has forgotten something of it: its result may be another one now. */
  wasForgotten(operation: QueuedOperation): boolean;
  /** The node has lost what it knew of its operations: the portal does not hold it to that. */
  nodeForgot(): void;
  /** Sets the desired state; its `revision` is in it. */
  desire(document: JsonValue): void;
}

/** What a portal is made of. */
export interface ClusterPortalOptions {
  readonly clusterId: string;
  readonly nodeName: string;
  readonly serverId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly releaseKeys: readonly [Secret<Uint8Array>, Secret<Uint8Array>];
  /** How signatures are verified. */
  readonly verify: NonNullable<Portal["verify"]>;
  /** How bodies are hashed for that. */
  readonly hashBody: NonNullable<Portal["hashBody"]>;
  /** What proves answers; without it none is proven. */
  readonly answerKey?: AnswerKey;
  /** How secrets are sealed. */
  readonly seal: NonNullable<Portal["seal"]>;
  /** Beside the first one, by version; shared by all. */
  readonly releases: ReadonlyMap<string, StoredRelease>;
}

/** A portal that waits for its node to enroll. */
export function createClusterPortal(options: ClusterPortalOptions): ClusterPortal {
  const { clusterId, nodeName, serverId, clock, random, releaseKeys, releases } = options;
  const state = { ...emptyState(clusterId), releases: releases as Map<string, StoredRelease> };
  const cluster = firstCluster(clusterId, random);
  cluster.nodes.set(nodeName, { serverId });
  state.clusters.set(clusterId, cluster);
  const portal = createPortalInProcess({
    state,
    clock,
    random,
    releaseKeys,
    verify: options.verify,
    hashBody: options.hashBody,
    seal: options.seal,
    ...(options.answerKey === undefined ? {} : { answerKey: options.answerKey }),
  });
  const forgotten = new Set<QueuedOperation>();
  const token = issueToken(portal, { clusterId, nodeName, serverId, expiresAt: null }).reveal();

  function forget(operation: QueuedOperation): void {
    forgotten.add(operation);
    Object.assign(operation, { events: [], refusedUpTo: 0, result: null, again: false });
  }

  return {
    portal,
    cluster,
    token,
    answer(request, version) {
      const wire = wireRequest(request, version);
      const answer = serve(portal, wire);
      if (answer.status === 400) noteRefusedEvents(portal, wire.target, wire.body);
      return prove(portal, wire, answer);
    },
    offer(operation) {
      const queued: QueuedOperation = {
        id: operation.id,
        clusterId,
        nodeName,
        offer: operation,
        offeredAt: null,
        events: [],
        refusedUpTo: 0,
        result: null,
        again: false,
      };
      state.operations.push(queued);
      return queued;
    },
    forget,
    wasForgotten: (operation) => forgotten.has(operation),
    nodeForgot() {
      for (const operation of state.operations) {
        if (operation.result === null || operation.again) forget(operation);
        forgotten.add(operation);
      }
    },
    desire(document) {
      cluster.desired = { document, raw: true, tag: undefined };
    },
  };
}

function noteRefusedEvents(portal: Portal, target: string, body: Uint8Array): void {
  const id = /\/operations\/([^/]+)\/events$/.exec(target)?.[1];
  const operation = portal.state.operations.find((queued) => queued.id === id);
  if (operation !== undefined) noteRefused(operation, body);
}
