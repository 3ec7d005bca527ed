import type { Bootstrap } from "../state/bootstrap.ts";
import type { Config } from "../state/config.ts";
import type { Found } from "../state/durable.ts";
import type { Binding, Identity } from "../state/identity.ts";
import type { Stage, State } from "../state/state.ts";

/** What moves it on. */
export type LifeEvent =
  | "keys_stored"
  | "enrolled"
  | "enrollment_refused"
  | "k3s_started"
  | "identity_revoked"
  | "identity_accepted"
  | "server_differs";

/**
 * The whole life in one table: from a stage, an event leads to a stage; what is not listed cannot happen.
 * Where it begins is what the files say ({@link stageAtStart}).
 * On another server (`server_differs`) an enrolled agent stands still, and what it goes on as, should the
 * metadata service take that back, its files say as at a start.
 * Refused, revoked and identity_unreadable are idle: the program runs on and leaves everything alone. A
 * revoked agent asks again once an hour, the others only after a restart. Syncing already goes on while k3s
 * starts, so that a node whose API never
 * comes up can be seen and restored (protocol §4).
 */
export const TRANSITIONS: Readonly<Record<Stage, Partial<Readonly<Record<LifeEvent, Stage>>>>> = {
  unenrolled: { keys_stored: "enrolling" },
  enrolling: {
    enrolled: "starting_k3s",
    enrollment_refused: "refused",
    server_differs: "other_server",
  },
  refused: {},
  starting_k3s: {
    k3s_started: "syncing",
    identity_revoked: "revoked",
    server_differs: "other_server",
  },
  syncing: { identity_revoked: "revoked", server_differs: "other_server" },
  revoked: { identity_accepted: "starting_k3s", server_differs: "other_server" },
  identity_unreadable: {},
  other_server: {},
};

/** The stage after `event`. Throws where the table has no such move: a fault of the program. */
export function next(stage: Stage, event: LifeEvent): Stage {
  const to = TRANSITIONS[stage][event];
  if (to === undefined) throw new Error(`no move from ${stage} by ${event}`);
  return to;
}

/** Whether the table has a move by `event` from `stage`. */
export function hasMove(stage: Stage, event: LifeEvent): boolean {
  return TRANSITIONS[stage][event] !== undefined;
}

/** What the files on disk say about the agent's life. */
export interface Evidence {
  readonly identity: "absent" | "keys_only" | "bound" | "unreadable";
  /** A file that is written only after the identity: bootstrap.json or state.json. */
  readonly laterFile: boolean;
  readonly revoked: boolean;
  readonly k3sStarted: boolean;
  /** The answer to the enrollment is lost, k3s still needs it, and the token to ask again is there. */
  readonly answerLost: boolean;
}

/** What was found in the state directory. `state` is what counts, recovered where it had to be. */
export interface Files {
  readonly identity: Found<Identity>;
  readonly bootstrap: Found<Bootstrap>;
  readonly stateFile: Found<State>["kind"];
  readonly state: State;
  /** Null where it is not readable. */
  readonly config: Config | null;
}

/** What the files say. */
export function evidenceOf({ identity, bootstrap, stateFile, state, config }: Files): Evidence {
  const binding = identity.kind === "loaded" ? identity.value.binding : null;
  return {
    identity: identityEvidence(identity, bootstrap),
    laterFile: bootstrap.kind !== "absent" || stateFile !== "absent",
    revoked: state.revoked,
    k3sStarted: state.first_start === "done",
    answerLost: bootstrap.kind !== "loaded" && state.first_start === "configure" &&
      config?.enrollmentToken !== undefined && isFor(config, binding),
  };
}

/** Whether the configuration is this agent's: the token of another node would bind it anew. */
function isFor(config: Config, binding: Binding | null): boolean {
  return binding === null ||
    config.clusterId === binding.cluster_id && config.nodeName === binding.node_name;
}

/** An answer that was stored before its ID reached identity.json binds all the same. */
function identityEvidence(
  identity: Found<Identity>,
  bootstrap: Found<Bootstrap>,
): Evidence["identity"] {
  switch (identity.kind) {
    case "absent":
      return "absent";
    case "loaded":
      return identity.value.binding !== null || bootstrap.kind === "loaded" ? "bound" : "keys_only";
    case "newer":
    case "unreadable":
      return "unreadable";
  }
}

/**
 * The stage to start from. An identity that is gone beside files that are younger was lost, and is never
 * replaced by a fresh one (operations.md, Files).
 */
export function stageAtStart(evidence: Evidence): Stage {
  switch (evidence.identity) {
    case "unreadable":
      return "identity_unreadable";
    case "absent":
      return evidence.laterFile ? "identity_unreadable" : "unenrolled";
    case "keys_only":
      return "enrolling";
    case "bound":
      if (evidence.revoked) return "revoked";
      if (evidence.answerLost) return "enrolling";
      return evidence.k3sStarted ? "syncing" : "starting_k3s";
  }
}
