import type { z } from "zod";
import type { JsonObject } from "../json.ts";
import type { DiskError } from "../ports/disk.ts";
import type { Ports } from "../ports/mod.ts";
import type { OperationEvent } from "../protocol/operation.ts";
import type { Release } from "../protocol/release.ts";
import type { Sealed } from "../protocol/sealed.ts";
import type { Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { SnapshotRecord } from "../state/snapshot_record.ts";
import type { NodeFacts } from "./node_facts.ts";
import type { Rotation } from "./rotation.ts";

/**
 * The steps that must never run twice (operations.md, The engine). A step of such a name needs a probe:
 * the compiler refuses one without.
 */
export type DestructiveStepName = "reset_restore" | "reboot" | "wipe_db";

/** How a step ended. `handed` goes to the steps after it and into the journal: nothing secret. */
export type StepEnd =
  | { readonly kind: "done"; readonly handed?: JsonObject; readonly evidence?: string }
  | {
    readonly kind: "failed";
    readonly message: string;
    readonly code?: string;
    /** The result's `output`, where what was done before the failure counts. */
    readonly output?: JsonObject;
  };

/** How a step ends whose program ends in its middle: nobody hears of it, the next start goes on there. */
export const PROGRAM_ENDS: StepEnd = { kind: "failed", message: "the agent ends in the middle" };

/** What the node shows about a destructive step that was cut short. */
export type Probe =
  | { readonly kind: "not_begun" }
  | { readonly kind: "completed"; readonly handed?: JsonObject; readonly evidence: string }
  /** Neither: the operation fails, and the step is never run again by itself. */
  | { readonly kind: "unclear"; readonly message: string };

/** Why there is no verified manifest. `manifest_unavailable`: it may come later. */
export interface ReleaseError {
  readonly code: string;
  /** For people; names the release. */
  readonly message: string;
}

/** A step that can be repeated safely. */
export interface Step<P> {
  /** The whole step's limit, milliseconds. */
  readonly timeoutMs: number;
  /** It hands on a secret, in memory only: after a crash the engine resumes here, not behind it. */
  readonly handsSecret?: boolean;
  run(tools: StepTools<P>): Promise<StepEnd>;
}

/** A step that must not run twice: what the node shows decides whether it runs. */
export interface DestructiveStep<P> extends Step<P> {
  probe(tools: StepTools<P>): Promise<Probe>;
}

/** Whether a step is one that must not run twice. */
export function isDestructive(step: Step<unknown>): step is DestructiveStep<unknown> {
  return "probe" in step;
}

/** The steps of an operation in their order, each under its name. */
export type Steps<P, N extends string> = {
  readonly [K in N]: K extends DestructiveStepName ? DestructiveStep<P> : Step<P>;
};

/** An operation as data. */
export interface Definition<P, N extends string = string> {
  readonly kind: string;
  /** Unknown and missing parameters are refused by it, with their names. */
  readonly params: z.ZodType<P>;
  /**
   * What an earlier version accepted as well: an operation that has begun is carried on with it. For those
   * that leave the node in pieces where they end in the middle.
   */
  readonly begunParams?: z.ZodType<P>;
  /** Refused (`api_down`) while the Kubernetes API is down. */
  readonly needsApi: boolean;
  /** The API counts as up where it answers at the server that k3s's configuration names to join. */
  readonly apiMayBeElsewhere?: boolean;
  /** Refused (`single_server`) unless the desired state says that the cluster has several servers. */
  readonly needsServers?: boolean;
  /** Refused (`consent_missing`) without `params.consent`. */
  readonly needsConsent?: boolean;
  /**
   * It helps to find out what happened, or puts it right: it is accepted while the API is that of another
   * cluster, and where no further ID can be remembered.
   */
  readonly isRescue?: boolean;
  /**
   * It stops k3s on its way, and starts it on another database. So it goes on to its end even where the
   * identity is revoked meanwhile, as cut short it would leave the node without its cluster; and until
   * the step `provenBy` has succeeded, nothing else acts on k3s or the cluster (`core/state/custody.ts`).
   */
  readonly stopsK3s?: { readonly provenBy: NoInfer<N> };
  readonly steps: Steps<P, N>;
  /** The result's `output`, from what the steps handed on. */
  output(handed: JsonObject): JsonObject;
}

/** What a step works with. */
export interface StepTools<P> {
  /** The operation's ID. */
  readonly id: string;
  readonly params: P;
  /** What the steps before handed on, and what {@link keepHanded} has added since. */
  readonly handed: JsonObject;
  /**
   * Hands something on in the middle of a step, and resolves once it is on disk: a repeat of the step
   * after a crash finds it in `handed`. False where the program ends first: the step must end too.
   */
  keepHanded(more: JsonObject): Promise<boolean>;
  /** Secrets that steps before handed on, by name; gone after a crash. */
  readonly secrets: Map<string, Secret>;
  readonly ports: Ports;
  readonly node: NodeFacts;
  /** What this node's snapshots were like when k3s had written them. */
  readonly snapshots: SnapshotRecord;
  /** Whether this node's agent leads the cluster now (operations.md, Leader). */
  leads(): boolean;
  /** From now on the cluster of this node is the one whose kube-system has this UID. */
  rememberCluster(kubeSystemUid: string): Promise<Result<void, DiskError>>;
  /** The agent's own keys. */
  readonly rotation: Rotation;
  /** The verified manifest of a release, fetched where it is not at hand. */
  release(version: string): Promise<Result<Release, ReleaseError>>;
  /** Aborts at the step's time limit, and when the program has to end. */
  readonly signal: AbortSignal;
  /** Opens a box that was found to open when the operation arrived. Throws where it does not. */
  open(sealed: Sealed): Secret;
  /** A line for the operation's log. Secrets in it are removed. */
  say(line: string): Promise<void>;
  /** Progress for the portal, sent at most every few seconds. */
  progress(progress: NonNullable<OperationEvent["progress"]>): Promise<void>;
  /**
   * Looks again and again until `look` gives something; says what it waits for, at most once a minute.
   * Null when the signal aborts.
   */
  waitFor<T>(what: string, look: () => Promise<T | null>, everyMs?: number): Promise<T | null>;
  /**
   * Tries again and again to complete here what is committed elsewhere (the portal took the new keys, k3s
   * has reset its database): trouble that passes is not a verdict on that. Says what it waits for, to the
   * log and as progress. The step's time limit does not end it; the end of the program does, with null.
   */
  complete<T>(what: string, attempt: () => Promise<Result<T, Trouble>>): Promise<T | null>;
}

/** Why an attempt did not succeed, in words or as a port gives it. */
export type Trouble = string | { readonly message: string };

/** The words of a trouble. */
export function troubleText(trouble: Trouble): string {
  return typeof trouble === "string" ? trouble : trouble.message;
}

/** An operation with its parameters' type forgotten, as the registry and the engine handle it. */
export type AnyDefinition = Definition<unknown>;

/** Declares an operation; the names of its steps are taken from the steps themselves. */
export function defineOperation<P, N extends string>(definition: Definition<P, N>): AnyDefinition {
  return definition as unknown as AnyDefinition;
}
