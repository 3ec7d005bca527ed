import type { State } from "./state.ts";

/** What keeps k3s from starting: a restore or a rejoin is under way, or failed half-way. */
export interface Hold {
  /** What the hold file says. */
  readonly why: string;
  /** kube-system's UID of the held cluster; null where the file does not name one. */
  readonly cluster: string | null;
}

/** What the node shows of its cluster. */
export interface ClusterLook {
  /** kube-system's UID that the API just gave; null where it gave none or was not asked. */
  readonly seen: string | null;
  readonly hold: Hold | null;
}

/** An operation that stops k3s and has not proven yet which cluster came up. */
export interface ActsAlone {
  readonly id: string;
  readonly kind: string;
  /** The step that it is at; null before the first. */
  readonly step: string | null;
}

/** Everything that the decision depends on. */
export interface CustodyFacts extends ClusterLook {
  readonly state: Pick<State, "kube_system_uid" | "other_cluster">;
  /** The operation under way that acts alone; null where there is none. */
  readonly alone: ActsAlone | null;
}

/** The API is that of another cluster than this node's. */
export interface OtherCluster {
  readonly kind: "other_cluster";
  /** kube-system's UID of this node's cluster. */
  readonly known: string;
  /** kube-system's UID that the API showed. */
  readonly seen: string;
}

/**
 * Who may act on this node's cluster now.
 *
 * `agent`: k3s may be started and restarted. Objects may be written only where the cluster is `proven`:
 * the API has just shown the UID that this node knows.
 */
export type Custody =
  | { readonly who: "agent"; readonly cluster: "proven" | "unproven" }
  | ({ readonly who: "operation" } & ActsAlone)
  | {
    readonly who: "nobody";
    readonly reason: OtherCluster | { readonly kind: "held"; readonly why: string };
  };

/**
 * Decides who may act on the cluster. Everything that writes to the API, starts or restarts k3s, or
 * leads asks this.
 *
 * A UID that cannot be read is no verdict: the one before it stands, and nothing is written.
 */
export function custodyOf({ state, hold, alone, seen }: CustodyFacts): Custody {
  if (alone !== null) {
    const { id, kind, step } = alone;
    return { who: "operation", id, kind, step };
  }
  const known = knownCluster(state, hold);
  const shown = seen ?? state.other_cluster;
  if (known !== null && shown !== null && shown !== known) {
    return { who: "nobody", reason: { kind: "other_cluster", known, seen: shown } };
  }
  if (hold !== null) return { who: "nobody", reason: { kind: "held", why: hold.why } };
  const isProven = known !== null && seen === known;
  return { who: "agent", cluster: isProven ? "proven" : "unproven" };
}

/**
 * kube-system's UID of this node's cluster; null where it is not known yet. An agent that has lost its
 * state still has what the hold says.
 */
export function knownCluster(
  { kube_system_uid }: Pick<State, "kube_system_uid">,
  hold: Hold | null,
): string | null {
  return kube_system_uid ?? hold?.cluster ?? null;
}

/** Whether the agent may write to the API. */
export function mayWrite(custody: Custody): boolean {
  return custody.who === "agent" && custody.cluster === "proven";
}

/** The other cluster, where the API is that of one; null otherwise. */
export function otherCluster(custody: Custody): OtherCluster | null {
  return custody.who === "nobody" && custody.reason.kind === "other_cluster"
    ? custody.reason
    : null;
}

/** Why the agent does not act, in words; null where it may. */
export function whyNotAgent(custody: Custody): string | null {
  switch (custody.who) {
    case "agent":
      return null;
    case "operation":
      return `${custody.kind} ${custody.id} is under way and has not proven the cluster yet`;
    case "nobody":
      return custody.reason.kind === "held"
        ? `k3s is held: ${custody.reason.why}`
        : describeOther(custody.reason);
  }
}

/** Both UIDs, in words. */
export function describeOther({ known, seen }: OtherCluster): string {
  return `the Kubernetes API is that of another cluster: kube-system has the UID ${seen}, ` +
    `and this node's cluster has ${known}`;
}
