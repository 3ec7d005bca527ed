import { isJsonObject, type JsonObject } from "../../core/json.ts";

/** A kind of object that the API knows. */
export interface Kind {
  /** `v1`, or `group/version`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** In URLs: plural, lower case. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** As messages call it: `secrets`, `leases.coordination.k8s.io`. */
  readonly fullName: string;
  /** The top-level fields beside apiVersion, kind and metadata; null where anything goes. */
  readonly fields: readonly string[] | null;
}

const CRD_VERSION = "apiextensions.k8s.io/v1";

const BUILT_IN: readonly Kind[] = [
  kind("v1", "Namespace", "namespaces", false, ["spec", "status"]),
  kind("v1", "Node", "nodes", false, ["spec", "status"]),
  kind("v1", "Pod", "pods", true, ["spec", "status"]),
  kind("v1", "Secret", "secrets", true, ["data", "type", "immutable"]),
  kind("v1", "ConfigMap", "configmaps", true, ["data", "binaryData", "immutable"]),
  kind("v1", "ServiceAccount", "serviceaccounts", true, [
    "secrets",
    "imagePullSecrets",
    "automountServiceAccountToken",
  ]),
  kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", false, [
    "roleRef",
    "subjects",
  ]),
  kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true, [
    "roleRef",
    "subjects",
  ]),
  kind("apps/v1", "Deployment", "deployments", true, ["spec", "status"]),
  kind("apps/v1", "DaemonSet", "daemonsets", true, ["spec", "status"]),
  kind("batch/v1", "Job", "jobs", true, ["spec", "status"]),
  kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true, ["spec", "status"]),
  kind("coordination.k8s.io/v1", "Lease", "leases", true, ["spec"]),
  kind(CRD_VERSION, "CustomResourceDefinition", "customresourcedefinitions", false, [
    "spec",
    "status",
  ]),
];

/** The kinds that are there without any CustomResourceDefinition. */
export function builtInKinds(): readonly Kind[] {
  return BUILT_IN;
}

/** Whether objects of this kind define further kinds. */
export function definesKinds(kind: Kind): boolean {
  return kind.apiVersion === CRD_VERSION;
}

/** The kinds that a CustomResourceDefinition adds: one for each served version. */
export function kindsOf(definition: JsonObject): readonly Kind[] {
  const spec = isJsonObject(definition["spec"]) ? definition["spec"] : {};
  const names = isJsonObject(spec["names"]) ? spec["names"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  return versions.filter(isJsonObject).filter((version) => version["served"] === true).map(
    (version) =>
      kind(
        `${spec["group"]}/${version["name"]}`,
        String(names["kind"]),
        String(names["plural"]),
        spec["scope"] === "Namespaced",
        null,
      ),
  );
}

function kind(
  apiVersion: string,
  name: string,
  resource: string,
  namespaced: boolean,
  fields: readonly string[] | null,
): Kind {
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return { apiVersion, kind: name, resource, namespaced, fullName: `${resource}${group}`, fields };
}
