import type { JsonObject } from "../../../core/json.ts";
import type { K8s, ObjectRef } from "../../../core/ports/k8s.ts";
import type { KubeApi } from "../../lab/kube_api.ts";
import { finishPod, putStatus } from "../../lab/kube_status.ts";

/** What a Pod of a test is like. */
export interface PodOptions {
  readonly node?: string;
  /** The kind of its controller; null for none. */
  readonly owner?: string | null;
  readonly app?: string;
  readonly emptyDir?: boolean;
  readonly mirror?: boolean;
}

/** Objects of a real API, and a stand-in for the kubelets. */
export interface PodWorld {
  putNode(name: string): Promise<void>;
  /** A Pod that runs and is Ready. */
  putPod(name: string, options?: PodOptions): Promise<void>;
  /** A budget for the Pods of an app. */
  putBudget(app: string, minAvailable: number): Promise<void>;
  /** How many disruptions the budget allows, as its controller says; null before it has said anything. */
  allowed(app: string): Promise<number | null>;
  /** Ends Pods that are being deleted, as kubelets do, until the function that it gives is called. */
  runKubelets(): () => Promise<void>;
}

/** Makes them in a namespace that is there. */
export function podWorld(api: KubeApi, k8s: K8s, namespace: string): PodWorld {
  const pods = { apiVersion: "v1", resource: "pods", namespace } as const;
  const budgetRef = (app: string): ObjectRef => ({
    apiVersion: "policy/v1",
    resource: "poddisruptionbudgets",
    namespace,
    name: app,
  });

  async function create(ref: ObjectRef, object: JsonObject): Promise<void> {
    const made = await k8s.create(ref, object);
    if (!made.ok) throw new Error(`${ref.resource}/${ref.name}: ${made.error.message}`);
  }

  return {
    async putNode(name) {
      const ref = { apiVersion: "v1", resource: "nodes", name };
      await create(ref, { apiVersion: "v1", kind: "Node", metadata: { name } });
    },

    async putPod(name, { node = "node-1", owner = "ReplicaSet", app = name, ...more } = {}) {
      const controller = {
        apiVersion: "apps/v1",
        kind: owner,
        name: app,
        uid: crypto.randomUUID(),
        controller: true,
      };
      await create({ ...pods, name }, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          name,
          namespace,
          labels: { app },
          ...(owner === null ? {} : { ownerReferences: [controller as JsonObject] }),
          ...(more.mirror === true ? { annotations: { "kubernetes.io/config.mirror": "x" } } : {}),
        },
        spec: {
          nodeName: node,
          containers: [{ name: "c", image: "none" }],
          volumes: more.emptyDir === true ? [{ name: "tmp", emptyDir: {} }] : [],
        },
      });
      await putStatus(api, { ...pods, name }, {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
      });
    },

    async putBudget(app, minAvailable) {
      await create(budgetRef(app), {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: app, namespace },
        spec: { minAvailable, selector: { matchLabels: { app } } },
      });
    },

    async allowed(app) {
      const budget = await k8s.get(budgetRef(app));
      const status = budget.ok ? budget.value?.["status"] as JsonObject | undefined : undefined;
      return typeof status?.["disruptionsAllowed"] === "number" &&
          status["observedGeneration"] !== undefined
        ? status["disruptionsAllowed"]
        : null;
    },

    runKubelets() {
      let isOver = false;
      const run = async () => {
        while (!isOver) {
          const list = await k8s.list(pods);
          for (const pod of list.ok ? list.value ?? [] : []) {
            const metadata = pod["metadata"] as JsonObject;
            if (metadata["deletionTimestamp"] === undefined) continue;
            await finishPod(api, { ...pods, name: String(metadata["name"]) });
          }
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      };
      const running = run();
      return async () => {
        isOver = true;
        await running;
      };
    },
  };
}
