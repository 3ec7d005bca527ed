import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../../core/json.ts";
import { DnsLabel } from "../../../core/protocol/identifiers.ts";
import { type Answer, json } from "../http/message.ts";
import type { Portal } from "../portal.ts";
import { activeAgent, type Agent, type Cluster, type QueuedOperation } from "../state.ts";
import { type Call, readCall, unknown } from "./admin.ts";
import { clusterOf } from "./clusters.ts";

const Guide = z.strictObject({
  /** Names the whole restore: its operations' IDs begin with it. */
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_]{0,31}$/, "is no name of a restore"),
  /** As `cluster.restore` takes them. */
  params: z.record(z.string(), z.json()),
  /** The server to restore on: the one whose k3s joins no other. The cluster's first unless told. */
  first: DnsLabel.optional(),
  /** Tries the operation that failed once more. */
  again: z.boolean().default(false),
});

/** An agent that was not heard of for so long is switched off, milliseconds: three cycles. */
const SILENT_MS = 105_000;

/** What somebody has to do now, or what is waited for. */
type Next =
  | { readonly next: "stop_others"; readonly nodes: readonly string[]; readonly message: string }
  | { readonly next: "start"; readonly node: string; readonly message: string }
  | { readonly next: "wait"; readonly node: string; readonly operation: string }
  | {
    readonly next: "failed";
    readonly node: string;
    readonly operation: string;
    readonly message: string;
  }
  | { readonly next: "done" };

/**
 * `POST /admin/clusters/{id}/restore`: a restore of a cluster of several servers as one sequence. Each call
 * looks where it stands, queues the next operation where its time has come, and says what to do: repeat it
 * until it says `done`. All of its memory is the operations, whose IDs follow from `id`.
 *
 * The others are stopped first, or they would go on as a second cluster. After the restore they come one
 * by one: two of three that are switched on at once could agree to be the old cluster.
 */
export function guideRestore(call: Call): Answer {
  const cluster = clusterOf(call);
  if (cluster === null) return unknown("cluster");
  const body = readCall(call, Guide);
  if (!body.ok) return body.error;
  const { id, params, again } = body.value;
  const names = [...cluster.nodes.keys()];
  const first = body.value.first ?? names[0] ?? "";
  if (!names.includes(first)) return unknown("node");
  const others = names.filter((name) => name !== first);
  const steps = [
    { node: first, kind: "cluster.restore", params: params as JsonObject },
    ...others.map((node) => ({ node, kind: "server.rejoin", params: {} })),
  ];
  for (const [index, step] of steps.entries()) {
    const before = attempts(call.portal, cluster, `${id}-${index}`);
    const last = before.at(-1);
    if (last?.result?.state === "succeeded") continue;
    if (last !== undefined && last.result === null) {
      return answer({ next: "wait", node: step.node, operation: last.id });
    }
    if (last !== undefined && !again) {
      const message = last.result?.message ?? String(last.result?.state);
      return answer({ next: "failed", node: step.node, operation: last.id, message });
    }
    const held = index === 0
      ? othersRun(call.portal, cluster, others)
      : isAway(call.portal, cluster, step.node);
    if (held !== null) return answer(held);
    const operation = `${id}-${index}-${before.length + 1}`;
    queue(call.portal, cluster, { ...step, id: operation });
    return answer({ next: "wait", node: step.node, operation });
  }
  return answer({ next: "done" });
}

function othersRun(portal: Portal, cluster: Cluster, others: readonly string[]): Next | null {
  const running = others.filter((name) => {
    const agent = activeAgent(portal.state, cluster.id, name);
    return agent !== null && isHeard(portal, agent) && isApiUp(agent);
  });
  if (running.length === 0) return null;
  const message =
    "switch these servers off, or stop k3s on them: they would go on as a second cluster";
  return { next: "stop_others", nodes: running, message };
}

function isAway(portal: Portal, cluster: Cluster, node: string): Next | null {
  const agent = activeAgent(portal.state, cluster.id, node);
  if (agent !== null && isHeard(portal, agent)) return null;
  return { next: "start", node, message: "switch this server on, and no other yet" };
}

function isHeard(portal: Portal, { lastSyncAt }: Agent): boolean {
  return lastSyncAt !== null && portal.now() - lastSyncAt < SILENT_MS;
}

function isApiUp({ report }: Agent): boolean {
  const node = isJsonObject(report) ? report["node"] : undefined;
  return isJsonObject(node) && node["api"] === "up";
}

/** What was queued for a step before, oldest first. */
function attempts({ state }: Portal, { id }: Cluster, step: string): readonly QueuedOperation[] {
  return state.operations.filter((operation) =>
    operation.clusterId === id && operation.id.startsWith(`${step}-`)
  );
}

function queue(
  portal: Portal,
  cluster: Cluster,
  step: {
    readonly id: string;
    readonly node: string;
    readonly kind: string;
    readonly params: JsonObject;
  },
): void {
  const { id, node, kind, params } = step;
  portal.state.operations.push({
    id,
    clusterId: cluster.id,
    nodeName: node,
    offer: { id, kind, params },
    offeredAt: null,
    events: [],
    refusedUpTo: 0,
    result: null,
    again: false,
  });
  portal.touch();
}

function answer(next: Next): Answer {
  return json(200, next as unknown as JsonObject);
}
