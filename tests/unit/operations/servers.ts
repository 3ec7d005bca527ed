import type { JsonObject } from "../../../core/json.ts";
import { STATE_FILE } from "../../../core/state/paths.ts";
import { desiredWith } from "../../../simulate/servers/desired.ts";
import type { Machine } from "./machine.ts";

export { desiredWith };

/** The machine's agent knows that its cluster has so many servers. */
export function withServers<M extends Machine>(machine: M, servers = 3): M {
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  const desired = { tag: "tag-1", state: desiredWith(servers) };
  machine.disk.put(STATE_FILE, JSON.stringify({ ...state, desired }));
  return machine;
}

/** What a Pod of a test is like. */
export interface PodOptions {
  readonly namespace?: string;
  readonly node?: string;
  /** The kind of its controller; null for none. */
  readonly owner?: string | null;
  readonly labels?: JsonObject;
  readonly emptyDir?: boolean;
  readonly mirror?: boolean;
  readonly phase?: string;
}

/** Lets a Pod run on a node; `gone-1` unless told. */
export function putPod({ k8s }: Machine, name: string, options: PodOptions = {}): void {
  const { namespace = "default", node = "gone-1", owner = "ReplicaSet", labels = {} } = options;
  const controller = {
    apiVersion: "apps/v1",
    kind: owner,
    name: "owner",
    uid: "u",
    controller: true,
  };
  k8s.write(`/api/v1/namespaces/${namespace}/pods/${name}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels,
      ...(owner === null ? {} : { ownerReferences: [controller as JsonObject] }),
      ...(options.mirror === true ? { annotations: { "kubernetes.io/config.mirror": "x" } } : {}),
    },
    spec: {
      nodeName: node,
      containers: [{ name: "c", image: "i" }],
      volumes: options.emptyDir === true ? [{ name: "tmp", emptyDir: {} }] : [],
    },
    status: { phase: options.phase ?? "Running" },
  }, "kubelet");
}

/** A budget for Pods with the label `app: guarded` that allows so many disruptions now. */
export function putBudget({ k8s }: Machine, allowed: number, name = "budget"): void {
  k8s.write(`/apis/policy/v1/namespaces/default/poddisruptionbudgets/${name}`, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name, namespace: "default" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "guarded" } } },
    status: { disruptionsAllowed: allowed },
  }, "disruption-controller");
}

/** Ends Pods that are being deleted, some seconds later each time, as their kubelets do. */
export function runKubelets({ k8s, clock }: Machine, isDead: () => boolean = () => false): void {
  const run = async () => {
    for (let round = 0; round < 2_000; round++) {
      await clock.sleep(3_000);
      if (isDead()) continue;
      const list = k8s.read("/api/v1/pods")?.["items"];
      for (const pod of Array.isArray(list) ? list as JsonObject[] : []) {
        const { name, namespace, deletionTimestamp } = pod["metadata"] as Record<string, string>;
        if (deletionTimestamp === undefined) continue;
        k8s.drop(`/api/v1/namespaces/${namespace}/pods/${name}`);
      }
    }
  };
  void run();
}

/** The names of the Pods that are there, sorted. */
export function podNames({ k8s }: Machine): readonly string[] {
  const list = k8s.read("/api/v1/pods")?.["items"];
  return (Array.isArray(list) ? list as JsonObject[] : []).map((pod) =>
    String((pod["metadata"] as JsonObject)["name"])
  ).sort();
}

/** Whether a Node takes no new Pods. */
export function isCordoned({ k8s }: Machine, node = "gone-1"): boolean {
  const spec = k8s.read(`/api/v1/nodes/${node}`)?.["spec"];
  return (spec as JsonObject | undefined)?.["unschedulable"] === true;
}
