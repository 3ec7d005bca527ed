import type { KubeApi } from "./kube_api.ts";

/** A Secret as the witness saw it. */
export interface SeenSecret {
  readonly type: string | undefined;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Who owns fields of it. */
  readonly managers: readonly (string | undefined)[];
  /** The data, decoded as UTF-8. */
  readonly text: Readonly<Record<string, string>>;
}

/**
 * Reads a Secret with kubernetes-fluent-client: a client that shares no code with ours, so that a
 * mistake of ours cannot hide itself. It leaves a connection open for each call.
 */
export async function witnessSecret(
  api: KubeApi,
  namespace: string,
  name: string,
): Promise<SeenSecret> {
  // It reads the variable when it is called; there is no other way to name a cluster.
  Deno.env.set("KUBECONFIG", api.kubeconfig);
  const { K8s, kind } = await import("kubernetes-fluent-client");
  const { type, metadata, data } = await K8s(kind.Secret).InNamespace(namespace).Get(name);
  const decode = (value: string) =>
    new TextDecoder().decode(Uint8Array.from(atob(value), (each) => each.charCodeAt(0)));
  return {
    type,
    labels: metadata?.labels,
    managers: (metadata?.managedFields ?? []).map(({ manager }) => manager),
    text: Object.fromEntries(
      Object.entries(data ?? {}).map(([key, value]) => [key, decode(value)]),
    ),
  };
}
