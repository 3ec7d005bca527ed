import type { JsonObject } from "../json.ts";
import type { Result } from "../result.ts";

/** The name of one Kubernetes object. */
export interface ObjectRef {
  readonly apiVersion: string;
  /** The resource in the URL: plural, lower case, for example `secrets`. */
  readonly resource: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

/**
 * Why the API did not do it. `unreachable`: no kubeconfig, no connection, TLS, time-out: try later.
 * `refused`: an answer that says no; `status` and `reason` are the API's own.
 */
export type K8sError =
  | { readonly code: "unreachable"; readonly message: string }
  | {
    readonly code: "refused";
    readonly status: number;
    /** `reason` of the API's Status object, empty where it gave none. */
    readonly reason: string;
    readonly message: string;
  };

/** The Kubernetes API of this node, through `/etc/rancher/k3s/k3s.yaml`. Speaks plain objects. */
export interface K8s {
  /** Whether `/readyz` answers 200 now. Never fails: no answer is false. */
  ready(): Promise<boolean>;
  /** The object, or null where there is none (404). */
  get(ref: ObjectRef): Promise<Result<JsonObject | null, K8sError>>;
  /** Server-side apply, forced, as field manager `pbx-agent`; the object as the API holds it after. */
  apply(ref: ObjectRef, object: JsonObject): Promise<Result<JsonObject, K8sError>>;
}
