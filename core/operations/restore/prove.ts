import { namespaceUid } from "../../cluster/kubernetes_facts.ts";
import type { Ports } from "../../ports/mod.ts";
import { type DatabaseFacts, hasNewSqlite, lookAtDatabase } from "./database.ts";

/** Whether the API is that of the restored cluster. `wrong`: it is not, and will not become it. */
export type Proof =
  | { readonly kind: "proven"; readonly uid: string }
  | { readonly kind: "waits"; readonly why: string }
  | { readonly kind: "wrong"; readonly why: string };

const KUBE_SYSTEM = { apiVersion: "v1", resource: "namespaces", name: "kube-system" } as const;
const K3S_KIND = {
  apiVersion: "apiextensions.k8s.io/v1",
  resource: "customresourcedefinitions",
  name: "addons.k3s.cattle.io",
} as const;

/**
 * Proves the cluster, not the port: /readyz says 200 for an empty sqlite cluster too (k3s lab). The
 * database is etcd, kube-system is the one that is known, and k3s's own kinds are there.
 *
 * @param uid kube-system's UID; null where nobody knows it
 */
export async function proveCluster(
  { k8s, disk }: Ports,
  before: DatabaseFacts,
  uid: string | null,
): Promise<Proof> {
  const look = await lookAtDatabase(disk);
  if (!look.ok) return waits(look.error.message);
  const now = look.value;
  if (hasNewSqlite(before, now)) {
    return {
      kind: "wrong",
      why: "k3s came up with an sqlite database instead of the restored one",
    };
  }
  if (now.etcd !== "whole") return { kind: "wrong", why: "the restored database is gone" };
  if (!await k8s.ready()) return waits("the API's /readyz does not say 200");
  const namespace = await k8s.get(KUBE_SYSTEM);
  if (!namespace.ok) return waits(namespace.error.message);
  const found = namespace.value === null ? null : namespaceUid(namespace.value);
  if (found === null) return waits("the namespace kube-system is not there");
  if (uid !== null && found !== uid) {
    const why = `it is another cluster: kube-system has the UID ${found} and not ${uid}`;
    return { kind: "wrong", why };
  }
  const kind = await k8s.get(K3S_KIND);
  if (!kind.ok) return waits(kind.error.message);
  if (kind.value === null) return waits("k3s's own kinds are not there");
  return { kind: "proven", uid: found };
}

function waits(why: string): Proof {
  return { kind: "waits", why };
}
