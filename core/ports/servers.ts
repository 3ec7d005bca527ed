import type { Result } from "../result.ts";
import type { Secret } from "../secret.ts";

/** A member of a cluster's etcd. */
export interface EtcdMember {
  /** Decimal; larger than a number can be. */
  readonly id: string;
  /** k3s's name for it: the node's name, a hyphen, eight hex digits. */
  readonly name: string;
  /** Where it takes clients. */
  readonly clientUrls: readonly string[];
  /** It is still being filled and has no vote. */
  readonly isLearner: boolean;
}

/** A cluster as one of its servers shows it. */
export interface ServerView {
  readonly kubeSystemUid: string;
  /** As a majority of them has it: a server without a majority shows nothing. */
  readonly members: readonly EtcdMember[];
}

/**
 * Why a server did not do it. `unreachable`: no answer, or one that says that it cannot now: try later.
 * `refused`: it does not take the token or the certificate, or is no server of such a cluster. `missing`:
 * this node has not what it takes to ask.
 */
export interface ServerError {
  readonly code: "unreachable" | "refused" | "missing";
  /** For people; never a token. */
  readonly message: string;
}

/**
 * Other servers of this node's cluster, reached as k3s and its etcd reach each other: with the cluster's
 * token, this node's certificates and the cluster's own authorities. Each call ends within 10 s.
 */
export interface Servers {
  /**
   * The CA file that a k3s server serves at `/cacerts`, as it serves it; null: this node's own, where its
   * kubeconfig says. Nothing proves it: it is for comparing with a pinned hash.
   */
  authority(url: string | null): Promise<Result<Uint8Array, ServerError>>;
  /** What the k3s server at `url` (`https://10.0.0.1:6443`) shows of its cluster. */
  look(url: string, token: Secret): Promise<Result<ServerView, ServerError>>;
  /** Whether a member answers and knows a leader. Never fails: no answer is false. */
  isHealthy(member: EtcdMember): Promise<boolean>;
  /**
   * Takes a member out of etcd, asking another one. Done only once a majority has agreed; one that is not
   * there counts as taken out.
   */
  removeMember(through: EtcdMember, member: EtcdMember): Promise<Result<void, ServerError>>;
}
