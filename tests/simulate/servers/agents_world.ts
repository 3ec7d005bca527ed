import { createFakeClock } from "../../../adapters/fake/clock.ts";
import type { JsonObject } from "../../../core/json.ts";
import { START } from "../../../simulate/servers/machine.ts";
import { createServersWorld, type ServersWorld } from "../../../simulate/servers/world.ts";
import { createSmallPortal, type SmallPortal } from "./small_portal.ts";

/** Servers of one cluster with the real agent on each, in virtual time, and a small portal. */
export interface AgentsWorld extends ServersWorld {
  readonly portal: SmallPortal;
  /** The portal cannot be reached. */
  outage: boolean;
}

/**
 * @param random 0 up to 1, by the seed
 * @param size how many servers the cluster has
 */
export function createAgentsWorld(random: () => number, size = 3): AgentsWorld {
  const clock = createFakeClock({ now: START });
  const portal = createSmallPortal(clock, () => world.outage);
  const servers = createServersWorld({
    size,
    random,
    clock,
    peer: portal.peer,
    // The portal of these tests does not look at signatures.
    sign: () => new Uint8Array(64),
    onRound: meddle,
  });
  const world: AgentsWorld = Object.assign(servers, { portal, outage: false });
  return world;
}

/**
 * What others do to the cluster, so that agents have something to write in every cycle: the Secret is
 * changed by hand, Pods come and go, and Nodes that were drained are used again.
 */
function meddle({ etcd, servers }: ServersWorld, round: number): void {
  const { k8s } = etcd;
  const data = { token: btoa(`changed by hand, round ${round}`) };
  const metadata = { name: "hcloud", namespace: "kube-system" };
  const path = "/api/v1/namespaces/kube-system/secrets/hcloud";
  if (round > 12) k8s.write(path, { apiVersion: "v1", kind: "Secret", metadata, data }, "kubectl");
  for (const pod of itemsOf(k8s.read("/api/v1/pods"))) {
    const { name, deletionTimestamp } = pod["metadata"] as Record<string, string>;
    if (deletionTimestamp !== undefined) k8s.drop(`/api/v1/namespaces/default/pods/${name}`);
  }
  const [server] = servers.slice(round % servers.length);
  if (server === undefined || round % 2 === 1) return;
  // No more of them than a drain needs: every one is listed in every round.
  const pod = `web-${round % 12}-on-${server.name}`;
  k8s.write(`/api/v1/namespaces/default/pods/${pod}`, webPod(pod, server.name), "kubelet");
  const node = `/api/v1/nodes/${server.name}`;
  if (round % 10 !== 0 || k8s.read(node) === null) return;
  // What the agent has put there is taken back by hand.
  k8s.write(node, { apiVersion: "v1", kind: "Node", metadata: { name: server.name } }, "pbx-agent");
}

function webPod(name: string, nodeName: string): JsonObject {
  const controller = true;
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u", controller };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ownerReferences: [owner] },
    spec: { nodeName, containers: [{ name: "c", image: "i" }] },
    status: { phase: "Running" },
  };
}

function itemsOf(list: JsonObject | null): readonly JsonObject[] {
  const items = list?.["items"];
  return Array.isArray(items) ? items as JsonObject[] : [];
}
