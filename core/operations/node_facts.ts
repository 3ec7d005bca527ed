import type { DesiredState } from "../protocol/desired_state.ts";
import type { Arch } from "../protocol/enroll.ts";
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
  readonly arch: Arch;
  /** Releases that this node may run by what it was told, likeliest first. */
  readonly releases: readonly string[];
  /** Why a restart of k3s is pending; null where none is. */
  readonly pendingRestart: string | null;
  /** How long the image of an upgrade has to pass its health gate, milliseconds. */
  readonly gateMs: number;
  /** The owner has keys: a snapshot from a bucket is restored only if its SHA-256 is known. */
  readonly hasOwner: boolean;
}
