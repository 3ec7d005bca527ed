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

/** The objects of one kind: in one namespace, or without one in all of them. */
export type CollectionRef = Omit<ObjectRef, "name">;

/** Labels that an object has to have, each with exactly this value. */
export type Labels = Readonly<Record<string, string>>;

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

/** Which object may be deleted, and no other. */
export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** The Kubernetes API of this node, through `/etc/rancher/k3s/k3s.yaml`. Speaks plain objects. */
export interface K8s {
  /** Whether `/readyz` answers 200 now. Never fails: no answer is false. */
  ready(): Promise<boolean>;
  /** The object, or null where there is none (404). */
  get(ref: ObjectRef): Promise<Result<JsonObject | null, K8sError>>;
  /**
   * Every object of a kind, page by page, with these labels and values of fields (`spec.nodeName`) where
   * some are asked for; null where the API has no such kind.
   */
  list(
    ref: CollectionRef,
    labels?: Labels,
    fields?: Labels,
  ): Promise<Result<readonly JsonObject[] | null, K8sError>>;
  /**
   * Creates an object, or with `subresource` asks for what the API makes of one that is there: `token`
   * of a ServiceAccount, `eviction` of a Pod (refused with 429 while a budget does not allow it). The
   * object as the API answers it. One that is there already is refused with 409.
   */
  create(
    ref: ObjectRef,
    object: JsonObject,
    subresource?: "token" | "eviction",
  ): Promise<Result<JsonObject, K8sError>>;
  /**
   * Deletes an object; true where there was one. With `uid` only if it is that very one, with
   * `resourceVersion` only as it was read: another of the same name, or one that changed, is refused with
   * 409.
   */
  remove(
    ref: ObjectRef,
    preconditions?: Preconditions,
  ): Promise<Result<boolean, K8sError>>;
  /** Server-side apply, forced, as field manager `pbx-agent`; the object as the API holds it after. */
  apply(ref: ObjectRef, object: JsonObject): Promise<Result<JsonObject, K8sError>>;
}
