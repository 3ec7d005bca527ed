import type { FakeK8s } from "../../adapters/fake/k8s.ts";
import { memberOfNode, nodeReady } from "../../core/cluster/kubernetes_facts.ts";
import { at } from "../../core/cluster/live.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Etcd } from "./etcd.ts";

/** How often Nodes are Ready anew and k3s looks after its members, milliseconds. */
const ROUND_MS = 10_000;
/** Longer than any run of these worlds. */
const ROUNDS = 5_000;
/** k3s notes on a Node which member of etcd it has, and has a word before the Node goes (k3s fact G). */
const MEMBER_NAME = "etcd.k3s.cattle.io/node-name";
const FINALIZER = "wrangler.cattle.io/managed-etcd-controller";

/** What kubelets and k3s need of the world. */
export interface KubeletsWorld {
  readonly clock: Clock;
  readonly etcd: Etcd;
  readonly servers: readonly Kubelet[];
}

/** A server's kubelet. */
interface Kubelet {
  readonly name: string;
  isSilent(): boolean;
}

/**
 * What kubelets and k3s do: Nodes are Ready and renew their Leases while their server is up, a new one
 * registers itself, and one that is deleted goes once its member of etcd is out.
 */
export async function runKubelets(
  world: KubeletsWorld,
  onRound: (round: number) => void,
): Promise<void> {
  const { clock, etcd, servers } = world;
  for (let round = 0; round < ROUNDS; round++) {
    etcd.keepMembers();
    servers.forEach((server, number) => keepNode(world, server, number));
    onRound(round);
    await clock.sleep(ROUND_MS);
  }
}

function keepNode({ clock, etcd }: KubeletsWorld, server: Kubelet, number: number): void {
  const { name } = server;
  const shown = etcd.shownBy(number);
  const speaks = shown !== null && !server.isSilent();
  if (speaks && shown !== etcd.k8s) keepAlive(shown, name, clock.now());
  const node = etcd.k8s.read(`/api/v1/nodes/${name}`) ?? undefined;
  if (at(node, "metadata", "deletionTimestamp") !== undefined) {
    const member = memberOfNode(node ?? {});
    const isOut = member === null || !etcd.members.has(member) || etcd.takeOut(member);
    if (isOut) writeNode(etcd.k8s, name);
    return;
  }
  if (speaks && shown === etcd.k8s) {
    const member = etcd.memberOf(number);
    keepAlive(etcd.k8s, name, clock.now(), node);
    if (node === undefined || memberOfNode(node) !== member) writeNode(etcd.k8s, name, member);
  } else if (node !== undefined && nodeReady(node) !== false) {
    etcd.k8s.setNode(name, false);
  }
}

/** Only what changes is written: it is much work to compare. */
function keepAlive(k8s: FakeK8s, name: string, now: number, node?: JsonObject): void {
  if (node === undefined || nodeReady(node) !== true) k8s.setNode(name, true);
  renewLease(k8s, name, now);
}

/** What k3s has to say of a Node: its member, or without one nothing any more. */
function writeNode(k8s: FakeK8s, name: string, member: string | null = null): void {
  const said = member === null
    ? {}
    : { annotations: { [MEMBER_NAME]: member }, finalizers: [FINALIZER] };
  const metadata = { name, ...said };
  k8s.write(`/api/v1/nodes/${name}`, { apiVersion: "v1", kind: "Node", metadata }, "k3s-etcd");
}

function renewLease(k8s: FakeK8s, name: string, now: number): void {
  const apiVersion = "coordination.k8s.io/v1";
  const renewTime = new Date(now).toISOString().replace("Z", "000Z");
  const metadata = { name, namespace: "kube-node-lease" };
  k8s.write(`/apis/${apiVersion}/namespaces/kube-node-lease/leases/${name}`, {
    apiVersion,
    kind: "Lease",
    metadata,
    spec: { renewTime },
  }, "kubelet");
}
