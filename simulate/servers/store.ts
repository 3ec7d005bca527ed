import { createFakeK8s, type FakeK8s } from "../../adapters/fake/k8s.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";

/** What a copy takes over; k3s's definitions and the first namespaces are in every store. */
const KINDS: readonly (readonly [collection: string, apiVersion: string, kind: string])[] = [
  ["/api/v1/namespaces", "v1", "Namespace"],
  ["/api/v1/nodes", "v1", "Node"],
  ["/api/v1/secrets", "v1", "Secret"],
  ["/api/v1/configmaps", "v1", "ConfigMap"],
  ["/api/v1/pods", "v1", "Pod"],
  ["/apis/coordination.k8s.io/v1/leases", "coordination.k8s.io/v1", "Lease"],
  ["/apis/k3s.cattle.io/v1/etcdsnapshotfiles", "k3s.cattle.io/v1", "ETCDSnapshotFile"],
];

/** The objects of a cluster that has just come up, with k3s's own kinds. */
export function createStore(clock: Clock): FakeK8s {
  const store = createFakeK8s({ clock });
  store.installK3sDefinitions();
  return store;
}

/**
 * The same objects once more, as a snapshot of the database holds them. `kube-system` keeps its UID, as it
 * is the same in every store; other objects get new ones.
 */
export function copiedStore(clock: Clock, from: FakeK8s): FakeK8s {
  const copy = createStore(clock);
  for (const [collection, apiVersion, kind] of KINDS) {
    const items = from.read(collection)?.["items"];
    for (const object of Array.isArray(items) ? items.filter(isJsonObject) : []) {
      const { name, namespace, labels = {}, annotations = {} } = object["metadata"] as JsonObject;
      const parts = collection.split("/");
      const resource = parts.pop();
      const within = namespace === undefined ? [] : ["namespaces", String(namespace)];
      const path = [...parts, ...within, resource, name].join("/");
      copy.write(path, {
        ...object,
        apiVersion,
        kind,
        metadata: {
          name: name ?? "",
          ...(namespace === undefined ? {} : { namespace }),
          labels,
          annotations,
        },
      }, "k3s");
    }
  }
  return copy;
}
