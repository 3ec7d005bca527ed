import type { JsonObject } from "../../json.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { awaitLead } from "../leading.ts";
import { Cordoned, leftCordoned, uncordon } from "./cordon.ts";
import type { DrainParams } from "./params.ts";
import { type DrainPod, podKey, podName, podsOfNode } from "./pods.ts";

type Tools = StepTools<DrainParams>;

/** Between two rounds: as long as kubectl waits for a budget. */
const ROUND_MS = 5_000;
/** Names in an output: it has to fit a request. */
const MAX_NAMES = 500;

/**
 * Evicts the Pods, round after round until they are gone: a budget that does not allow it now may do so
 * when another Pod has come up elsewhere. At the deadline it fails, says which Pods remain and why, and
 * takes back its own cordon.
 */
export async function evict(tools: Tools): Promise<StepEnd> {
  const { params, ports, progress, say, signal } = tools;
  const { clock } = ports;
  // On the monotonic clock alone: a run after a crash has the whole time again.
  const until = clock.monotonic() + params.timeoutMs;
  const seen = new Set(Cordoned.parse(tools.handed).pods);
  const reasons = new Map<string, string>();
  let left: readonly DrainPod[] | null = null;

  while (!signal.aborted) {
    const pods = await podsOfNode(ports, params.node, params.deleteEmptyDir);
    left = pods ?? left;
    const going = (pods ?? []).filter(({ fate }) => fate === "goes");
    for (const pod of going) seen.add(podKey(pod));
    if (pods !== null) {
      const done = seen.size - going.length;
      await progress({ done, total: seen.size, unit: "items" });
      if (going.length === 0) {
        const handed = outcome(seen, pods);
        return { kind: "done", handed, evidence: inWords(handed, pods, reasons) };
      }
    }
    if (clock.monotonic() >= until) break;
    for (const pod of going) {
      if (pod.isGoing || signal.aborted || clock.monotonic() >= until) continue;
      const noLead = await awaitLead(tools);
      if (noLead?.kind === "failed") {
        const message = `${noLead.message}; ${leftCordoned(tools)}`;
        return { ...noLead, message, output: outcome(seen, left ?? []) };
      }
      const why = await evictOne(tools, pod);
      if (why !== null && why !== reasons.get(podKey(pod))) {
        await say(`${podName(pod)} stays: ${why}`);
      }
      if (why === null) await say(`${podName(pod)} is evicted`);
      reasons.set(podKey(pod), why ?? "it was evicted and has not ended yet");
    }
    await clock.sleep(Math.min(ROUND_MS, Math.max(0, until - clock.monotonic())), signal);
  }
  const output = outcome(seen, left ?? []);
  // The program ends, and the next one goes on here: by then nothing may have come to the node.
  if (signal.aborted) return { kind: "failed", message: leftCordoned(tools), output };
  const how = await uncordon(tools, Cordoned.parse(tools.handed));
  const rest = left === null
    ? "the API did not list the node's Pods"
    : inWords(output, left, reasons);
  const message = `not all Pods went within ${params.timeoutMs / 1000} s: ${rest}; ${how}`;
  return { kind: "failed", code: "timeout", message, output };
}

/** Looks once more at what is on the node: that is what the portal hears. */
export async function report(tools: Tools): Promise<StepEnd> {
  const { params, ports, handed, waitFor } = tools;
  const pods = await waitFor(
    "the API to list the node's Pods",
    () => podsOfNode(ports, params.node, params.deleteEmptyDir),
  );
  if (pods === null) return { kind: "failed", message: "the API does not list the node's Pods" };
  return {
    kind: "done",
    handed: { evicted: handed["evicted"] ?? 0, remaining: remainingOf(pods) },
  };
}

/** Asks for an eviction; why the Pod stays, or null where it goes or is gone. */
async function evictOne({ ports }: Tools, pod: DrainPod): Promise<string | null> {
  const { namespace, name, uid } = pod;
  const answer = await ports.k8s.create(
    { apiVersion: "v1", resource: "pods", namespace, name },
    {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name, namespace },
      // Another Pod of the same name is another Pod, perhaps on another node.
      ...(uid === null ? {} : { deleteOptions: { preconditions: { uid } } }),
    },
    "eviction",
  );
  if (answer.ok) return null;
  const { error } = answer;
  if (error.code === "unreachable") return error.message;
  if (error.status === 404 || error.status === 409) return null;
  return error.status === 429 ? `its budget does not allow it (${error.message})` : error.message;
}

/** How many of the Pods that had to go are gone, and the names of those that are still there. */
function outcome(seen: ReadonlySet<string>, left: readonly DrainPod[]): JsonObject {
  const there = left.filter((pod) => seen.has(podKey(pod))).length;
  return { evicted: seen.size - there, remaining: remainingOf(left) };
}

function remainingOf(pods: readonly DrainPod[]): string[] {
  return pods.filter(({ fate }) => fate !== "stays").map(podName).sort().slice(0, MAX_NAMES);
}

function inWords(
  { evicted }: JsonObject,
  left: readonly DrainPod[],
  reasons: ReadonlyMap<string, string>,
): string {
  const those = left.filter(({ fate }) => fate !== "stays");
  const remaining = those.toSorted((a, b) => podName(a) < podName(b) ? -1 : 1).map((pod) => {
    const why = pod.why || reasons.get(podKey(pod)) || "it has not ended yet";
    return `${podName(pod)} (${why})`;
  });
  const rest = remaining.length === 0 ? "none remains" : `these remain: ${remaining.join(", ")}`;
  return `${evicted} ${evicted === 1 ? "Pod is" : "Pods are"} gone, ${rest}`;
}
