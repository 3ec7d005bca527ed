import type { CustomResourceDefinition } from "kubernetes-types/apiextensions/v1";
import type { Namespace, Node } from "kubernetes-types/core/v1";
import type { JsonObject } from "../../core/json.ts";

/** The namespaces of a cluster that has just come up. */
export const FIRST_NAMESPACES = [
  "default",
  "kube-system",
  "kube-public",
  "kube-node-lease",
] as const;

/** A Namespace as the API server makes it. */
export function namespaceObject(name: string): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
  } satisfies Namespace;
}

/** A Node with the one condition that the agent reads. */
export function nodeObject(name: string, ready: boolean): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    spec: {},
    status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  } satisfies Node;
}

/** The definitions that k3s applies up to seconds after `/readyz` first answers 200. */
export function k3sDefinitions(): readonly JsonObject[] {
  return [
    definition("k3s.cattle.io", "Addon", "addons", "Namespaced"),
    definition("k3s.cattle.io", "ETCDSnapshotFile", "etcdsnapshotfiles", "Cluster"),
    definition("helm.cattle.io", "HelmChart", "helmcharts", "Namespaced"),
    definition("helm.cattle.io", "HelmChartConfig", "helmchartconfigs", "Namespaced"),
  ];
}

/** A CustomResourceDefinition of one version that takes any field. */
export function definition(
  group: string,
  kind: string,
  plural: string,
  scope: "Namespaced" | "Cluster",
  version = "v1",
): JsonObject {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
      }],
    },
    status: { conditions: [{ type: "Established", status: "True" }] },
  } satisfies CustomResourceDefinition;
}
