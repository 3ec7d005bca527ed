/** What the model has to know of a server. */
export interface Host {
  readonly name: string;
  /** Its k3s runs. */
  isRunning(): boolean;
  /** How its database calls its member; null where there is none. */
  memberName(): string | null;
  /** A k3s that has joined makes a database. */
  putDatabase(memberName: string): void;
}

/** A write that an agent made, at the moment when it took effect. */
export interface SeenWrite {
  readonly by: string;
  readonly what: string;
  /** Who held the lease then. */
  readonly holder: string;
}

/** The Lease of the agents' election. */
export const LEASE = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";
