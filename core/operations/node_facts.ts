import type { DesiredState } from "../protocol/desired_state.ts";
import type { ClusterSecrets } from "../protocol/secrets.ts";
import type { Binding } from "../state/identity.ts";

/** What operations know of the node and its cluster beyond their parameters. */
export interface NodeFacts {
  readonly binding: Binding;
  readonly agentVersion: string;
  /** The desired state in effect; null while none was accepted. */
  readonly desired: DesiredState | null;
  /** The cluster's secrets as last accepted, still sealed. */
  readonly secrets: ClusterSecrets;
  /** Where the Kubernetes API is reached from outside: the first name of its certificate. */
  readonly apiUrl: string;
  /** kube-system's UID since the first start; null before. */
  readonly kubeSystemUid: string | null;
}
