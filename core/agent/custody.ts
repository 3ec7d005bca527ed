import { namespaceUid } from "../cluster/kubernetes_facts.ts";
import { readHoldFile } from "../operations/restore/hold.ts";
import { definitionOf } from "../operations/registry.ts";
import type { K8s, K8sError } from "../ports/k8s.ts";
import type { Ports } from "../ports/mod.ts";
import { fail, ok, type Result } from "../result.ts";
import {
  type ActsAlone,
  type ClusterLook,
  type Custody,
  custodyOf,
  describeOther,
  knownCluster,
  mayWrite,
  otherCluster,
  whyNotAgent,
} from "../state/custody.ts";
import type { State } from "../state/state.ts";
import { type BoundContext, clearConditions, raiseCondition } from "./context.ts";
import { runningOperation } from "../state/journal.ts";

const KUBE_SYSTEM = { apiVersion: "v1", resource: "namespaces", name: "kube-system" } as const;

/** kube-system's UID as the API gives it now; null where the namespace is not there yet. */
export async function readClusterUid(k8s: K8s): Promise<Result<string | null, K8sError>> {
  const namespace = await k8s.get(KUBE_SYSTEM);
  if (!namespace.ok) return namespace;
  return ok(namespace.value === null ? null : namespaceUid(namespace.value));
}

/** Asks the node and the API which cluster this is. */
export async function lookAtCluster(
  { k8s, disk }: Pick<Ports, "k8s" | "disk">,
): Promise<ClusterLook> {
  const [uid, hold] = await Promise.all([readClusterUid(k8s), readHoldFile({ disk })]);
  return { seen: uid.ok ? uid.value : null, hold };
}

/** Who may act on the cluster, by the state and what was seen. */
export function custodyBy(state: State, look: ClusterLook): Custody {
  return custodyOf({ state, alone: actsAlone(state), ...look });
}

/**
 * Who may act on the node's k3s, without asking the API: it is down where k3s is to be started, and the
 * last verdict about its cluster stands.
 */
export async function custodyOfNode({ ports, store }: BoundContext): Promise<Custody> {
  return custodyBy(store.state, { seen: null, hold: await readHoldFile(ports) });
}

/** The operation under way that stops k3s, until it has proven the cluster. */
function actsAlone(state: State): ActsAlone | null {
  const operation = runningOperation(state);
  if (operation === null) return null;
  const { id, kind, step, steps } = operation;
  const proves = definitionOf(kind)?.stopsK3s?.provenBy;
  if (proves === undefined) return null;
  const isProven = steps.some(({ name, state }) => name === proves && state === "succeeded");
  return isProven ? null : { id, kind, step };
}

/**
 * Takes in which cluster the API showed in this cycle, and says so where it is another one. Nothing is
 * taken in while an operation acts alone: what comes up meanwhile is for it to judge.
 */
export async function judgeCluster(
  context: BoundContext,
  seen: string | null,
): Promise<ClusterLook> {
  const { ports, store } = context;
  const look = { seen, hold: await readHoldFile(ports) };
  const custody = custodyBy(store.state, look);
  if (custody.who === "operation") return look;
  if (seen !== null) await note(context, look);
  const other = otherCluster(custody);
  if (other === null) await clearConditions(context, "other_cluster");
  else {
    await raiseCondition(
      context,
      "other_cluster",
      `${describeOther(other)}. Nothing is written to it, and k3s is not restarted. If ` +
        `${other.seen} is to be this node's cluster, ask for a cluster.restore with ` +
        "kube_system_uid; or uninstall the agent and enroll a new server",
    );
  }
  return look;
}

/** Remembers another cluster, so that the verdict stands while the API is down; or forgets it. */
async function note({ store }: BoundContext, { seen, hold }: ClusterLook): Promise<void> {
  const known = knownCluster(store.state, hold);
  const other = known !== null && seen !== known ? seen : null;
  // A state that says that the first start is done, and not of which cluster.
  const isLearnt = known === null && store.state.first_start === "done" && hold === null;
  const kube_system_uid = isLearnt ? seen : store.state.kube_system_uid;
  const { other_cluster, kube_system_uid: before } = store.state;
  if (other === other_cluster && kube_system_uid === before) return;
  await store.keep((state) => ({ ...state, other_cluster: other, kube_system_uid }));
}

/**
 * How long the question may take, milliseconds. The caller asked before it whether this node leads, and
 * after a long pause another node may lead; a fifth of the leader's margin is left to the question.
 */
const FRESH_MS = 2_000;

/**
 * The API for everything that acts while k3s may be replaced beside it: right before every write it is
 * asked which cluster it is, and where the agent may not write, the write fails as if the API did not
 * answer. Between that question and the write lies one call.
 */
export function guardedK8s({ ports, store }: BoundContext): K8s {
  const { k8s, clock } = ports;
  async function write<T>(
    work: () => Promise<Result<T, K8sError>>,
  ): Promise<Result<T, K8sError>> {
    const began = clock.monotonic();
    const uid = await readClusterUid(k8s);
    if (!uid.ok) return uid;
    const look = { seen: uid.value, hold: await readHoldFile(ports) };
    const custody = custodyBy(store.state, look);
    const tookMs = clock.monotonic() - began;
    if (tookMs > FRESH_MS) {
      const message = `nothing is written: the API took ${tookMs} ms to show kube-system's UID`;
      return fail({ code: "unreachable", message });
    }
    if (mayWrite(custody)) return await work();
    const why = whyNotAgent(custody) ?? "the cluster is not proven to be this node's";
    return fail({ code: "unreachable", message: `nothing is written: ${why}` });
  }
  return {
    ready: () => k8s.ready(),
    get: (ref) => k8s.get(ref),
    list: (ref, labels, fields) => k8s.list(ref, labels, fields),
    create: (ref, object, subresource) => write(() => k8s.create(ref, object, subresource)),
    remove: (ref, preconditions) => write(() => k8s.remove(ref, preconditions)),
    apply: (ref, object) => write(() => k8s.apply(ref, object)),
  };
}
