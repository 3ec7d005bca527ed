import { bytesToHex } from "@noble/hashes/utils.js";
import { createFakeRandom } from "../../../adapters/fake/random.ts";
import type { FakeReply } from "../../../adapters/fake/http.ts";
import { nativeKeyOf, portalKeysOf } from "../../../adapters/portal/answer_key.ts";
import { createNativeSealing } from "../../../adapters/native_sealing.ts";
import { createNativeSigning } from "../../../adapters/native_signing.ts";
import { answerAgent } from "../../../adapters/portal/answer_agent.ts";
import { Fault, mergePatch } from "../../../adapters/portal/faults.ts";
import { firstCluster } from "../../../adapters/portal/first_cluster.ts";
import { FIRST_RELEASE, firstRelease } from "../../../adapters/portal/first_release.ts";
import { issueToken } from "../../../adapters/portal/issue_token.ts";
import { createPortalInProcess } from "../../../adapters/portal/in_process.ts";
import type { Portal } from "../../../adapters/portal/portal.ts";
import { parseReleaseKeys } from "../../../adapters/portal/release_keys.ts";
import { type Cluster, emptyState, type QueuedOperation } from "../../../adapters/portal/state.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import type { Clock } from "../../../core/ports/clock.ts";
import type { HttpRequest } from "../../../core/ports/http.ts";
import { parseBody } from "../../../core/protocol/json_body.ts";
import { signingPublicKey } from "../../../core/protocol/signing.ts";
import keys from "../../../fixtures/lab-release-keys.json" with { type: "json" };

/** The cluster, node and server that every test is about. */
export const CLUSTER = "demo";
export const NODE = "demo-1";
export const SERVER = "4711001";

const RELEASE_KEYS = parseReleaseKeys(JSON.stringify(keys));

/** What this portal signs its answers with. */
const ANSWER_KEY = nativeKeyOf(new Uint8Array(32).fill(9));

/** Its public half, as config.yaml has it. */
export const [PORTAL_KEY = ""] = portalKeysOf(ANSWER_KEY);

/** The public halves of the keys that this portal signs releases with. */
export const RELEASE_PUBLIC_KEYS = RELEASE_KEYS.map(signingPublicKey);

/** The fake portal's rules without its server, and what tests do to it behind its back. */
export interface PortalInside {
  readonly portal: Portal;
  readonly cluster: Cluster;
  /** Refuses connections while true. */
  down: boolean;
  peer(request: HttpRequest): Promise<FakeReply>;
  /** A fresh enrollment token for the node. */
  token(): string;
  /** Adds a fault of the admin API; hits once unless it says otherwise. */
  fault(fault: unknown): void;
  /** Merges into the desired state and counts its revision up. */
  desire(patch: JsonObject): void;
  /** Queues an operation for the node. */
  offer(offer: JsonValue, id?: string): QueuedOperation;
  /** Paths below the base of the requests so far, with their statuses: `POST /sync 200`. */
  asked(): string[];
  /** The bodies of its answers so far, oldest first. */
  readonly answers: JsonValue[];
}

/** A portal with one cluster that knows one node, on simulated time. */
export function createPortalInside(clock: Clock): PortalInside {
  const random = createFakeRandom(7);
  const state = emptyState(bytesToHex(random.bytes(16)));
  state.releases.set(FIRST_RELEASE, firstRelease());
  const cluster = firstCluster(CLUSTER, random);
  cluster.nodes.set(NODE, { serverId: SERVER });
  state.clusters.set(CLUSTER, cluster);
  const portal = createPortalInProcess({
    state,
    clock,
    random,
    releaseKeys: RELEASE_KEYS,
    answerKey: ANSWER_KEY,
    verify: createNativeSigning().verify,
    seal: createNativeSealing().seal,
  });
  const around = { portal, sleep: (ms: number) => clock.sleep(ms), log: { write() {} } };

  return {
    portal,
    cluster,
    answers: [],
    down: false,
    async peer(request) {
      if (this.down) return { error: "connect" };
      const url = new URL(request.url);
      const headers = new Map(
        Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
      );
      const reply = await answerAgent(around, {
        method: request.method,
        target: url.pathname + url.search,
        headers,
        body: request.body ?? new Uint8Array(),
      });
      if (reply.kind !== "answer") return { error: "cut" };
      const read = parseBody(reply.answer.body);
      if (read.ok) this.answers.push(read.value);
      return reply.answer;
    },
    token: () =>
      issueToken(portal, {
        clusterId: CLUSTER,
        nodeName: NODE,
        serverId: SERVER,
        expiresAt: null,
      }).reveal(),
    fault: (fault) => void portal.memory.faults.push(Fault.parse(fault)),
    desire(patch) {
      const before = cluster.desired.document as JsonObject;
      const document = mergePatch(before, { revision: Number(before["revision"]) + 1, ...patch });
      cluster.desired = { document, raw: true, tag: undefined };
    },
    offer(offer, id = String((offer as JsonObject)["id"])) {
      const operation: QueuedOperation = {
        id,
        clusterId: CLUSTER,
        nodeName: NODE,
        offer,
        offeredAt: null,
        events: [],
        refusedUpTo: 0,
        result: null,
        again: false,
      };
      state.operations.push(operation);
      return operation;
    },
    asked: () =>
      portal.memory.requests.map(({ method, path, status }) =>
        `${method} ${path.replace("/agent/v1", "")} ${status}`
      ),
  };
}
