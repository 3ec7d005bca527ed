import { namespaceUid } from "../../core/cluster/kubernetes_facts.ts";
import type { K8s } from "../../core/ports/k8s.ts";
import { STATE_FILE } from "../../core/state/paths.ts";
import type { Machine } from "../unit/operations/machine.ts";

/** kube-system's UID at a real API; null while it does not answer. */
export async function kubeSystemUid(k8s: K8s): Promise<string | null> {
  const found = await k8s.get({ apiVersion: "v1", resource: "namespaces", name: "kube-system" });
  return found.ok && found.value !== null ? namespaceUid(found.value) : null;
}

/** The machine as a node of that cluster: its agent acts on no other. */
export function inCluster(machine: Machine, uid: string): Machine {
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  machine.disk.put(STATE_FILE, JSON.stringify({ ...state, kube_system_uid: uid }));
  return machine;
}
