import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { JsonObject } from "../../json.ts";
import type { ObjectRef } from "../../ports/k8s.ts";

/** The namespace of everybody's ServiceAccounts. */
export const ACCESS_NAMESPACE = "pbx-access";
/** The label that says whose a ServiceAccount or a binding is. */
export const PERSON_LABEL = "pbx.io/person";
/** The label of everything that `access.issue` makes. */
export const ACCESS_LABELS = { "pbx.io/managed": "true", "pbx.io/access": "true" } as const;

/** What a person may do: a ClusterRole of Kubernetes itself, in one namespace or everywhere. */
export interface Grant {
  readonly person: string;
  readonly role: "view" | "edit" | "admin" | "cluster-admin";
  readonly namespace?: string;
}

/** An object to apply, and its name in the API. */
export interface AccessObject {
  readonly ref: ObjectRef;
  readonly object: JsonObject;
}

/**
 * The name of the ServiceAccount of a grant. It is made of a hash of all of it, so that two people never
 * share one whatever their names are like, and a token never has a right from another grant.
 */
export function accountName({ person, role, namespace = "" }: Grant): string {
  const hash = bytesToHex(sha256(utf8ToBytes(JSON.stringify([person, role, namespace]))));
  return `${role}-${hash.slice(0, 32)}`;
}

/** What has to be there for a grant: the namespace, the ServiceAccount, the binding to its role. */
export function grantObjects(grant: Grant): readonly AccessObject[] {
  const name = accountName(grant);
  const labels = { ...ACCESS_LABELS, [PERSON_LABEL]: grant.person };
  return [
    {
      ref: { apiVersion: "v1", resource: "namespaces", name: ACCESS_NAMESPACE },
      object: {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: ACCESS_NAMESPACE, labels: { "pbx.io/managed": "true" } },
      },
    },
    {
      ref: accountRef(name),
      object: {
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name, namespace: ACCESS_NAMESPACE, labels },
        automountServiceAccountToken: false,
      },
    },
    binding(grant, name, labels),
  ];
}

/** The ServiceAccount of that name. */
export function accountRef(name: string): ObjectRef {
  return { apiVersion: "v1", resource: "serviceaccounts", namespace: ACCESS_NAMESPACE, name };
}

const RBAC = "rbac.authorization.k8s.io";

function binding({ role, namespace }: Grant, name: string, labels: JsonObject): AccessObject {
  const everywhere = namespace === undefined;
  const named = `${ACCESS_NAMESPACE}-${name}`;
  return {
    ref: {
      apiVersion: `${RBAC}/v1`,
      resource: everywhere ? "clusterrolebindings" : "rolebindings",
      ...(everywhere ? {} : { namespace }),
      name: named,
    },
    object: {
      apiVersion: `${RBAC}/v1`,
      kind: everywhere ? "ClusterRoleBinding" : "RoleBinding",
      metadata: { name: named, ...(everywhere ? {} : { namespace }), labels },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name, namespace: ACCESS_NAMESPACE }],
    },
  };
}
