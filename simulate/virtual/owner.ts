import { activeAgent, type QueuedOperation } from "../../adapters/portal/state.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { Random } from "../../core/ports/random.ts";
import type { SimulatedNode } from "../node/node.ts";
import { drawPause } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ClusterPortal } from "./cluster_portal.ts";
import {
  ALWAYS,
  badChange,
  type Change,
  changed,
  goodChange,
  otherWindows,
  updateChange,
} from "./documents.ts";
import { operationOf } from "./offers.ts";
import type { Timeline } from "./timeline.ts";
import { storedOperation } from "./stored_state.ts";

/** The people who own one cluster, and what they want of it over a run. */
export interface Owner {
  /** Every document that was offered and is usable, by revision. */
  readonly offered: ReadonlyMap<number, JsonObject>;
  /** The document that holds at the end. */
  wanted(): JsonObject;
  /** Every secret that was ever sent, in clear. */
  readonly secrets: ReadonlySet<string>;
  /** Offers an operation again that has its result: one of a kind, or any. */
  offerAgain(kind: string | null): void;
  /** From now on nothing new is asked: a last usable document, and failed restores made good. */
  settle(): void;
}

/** What an owner acts on. */
export interface OwnerOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly profile: Profile;
  readonly portal: ClusterPortal;
  readonly node: SimulatedNode;
  readonly catalogue: Catalogue;
  /** Hears what they do, in words. */
  readonly say: (what: string) => void;
}

/** Operations that wait at most. */
const MOST_WAITING = 3;
/** A document that is refused is replaced after this long, milliseconds. */
const MEND_MS = 180_000;
/** A revoked identity is taken back after this long, milliseconds. */
const GRACE_MS = 900_000;
/** One that syncs is heard of this often, milliseconds. */
const HEARD_MS = 120_000;
/** And so many times in a row, until nobody looks any more. */
const LOOKS = 3;
/** How often somebody looks whether a restore failed, milliseconds. */
const LOOK_MS = 300_000;
/** The version that is wanted at the end: one that no rollback of the run holds back. */
const LAST_VERSION = "0.9.0";

/** Begins to ask things of a cluster. */
export function createOwner(options: OwnerOptions): Owner {
  const { timeline, random, profile, portal, node, catalogue, say } = options;
  const { work } = profile;
  const offered = new Map<number, JsonObject>();
  const secrets = new Set<string>();
  let wanted = portal.cluster.desired.document as JsonObject;
  let revision = 1;
  let operations = 0;
  let updates = 0;
  let isSettled = false;

  function note(document: JsonObject): void {
    offered.set(Number(document["revision"]), document);
    wanted = document;
    noteSecrets(document, secrets);
  }

  function desire(change: Change): void {
    const document = changed(wanted, change, ++revision);
    say(`desired revision ${revision}: ${change.words}${change.bad ? " (must be refused)" : ""}`);
    if (change.bad) {
      const mine = revision;
      noteSecrets(document, secrets);
      timeline.after(MEND_MS, () => revision === mine && desire(goodChange(random)));
    } else note(document);
    portal.desire(document);
  }

  function update(): void {
    const by = random.fraction();
    const bad = by < profile.work.bad_updates;
    const ending = !bad ? "" : by < profile.work.bad_updates / 2 ? "-broken" : "-forged";
    desire(updateChange(`0.2.${updates++}${ending}`, catalogue));
  }

  /** Operations that have to be offered yet. */
  function waiting(): number {
    return portal.portal.state.operations.filter(({ result, again }) => result === null || again)
      .length;
  }

  function offer(kind: string): void {
    if (waiting() >= MOST_WAITING) return;
    const id = `op-${++operations}`;
    const operation = operationOf(kind, id, random, lastSnapshot(), work.given_names);
    if (operation === null) return;
    noteSecrets(operation, secrets);
    say(`operation ${id}: ${kind}`);
    portal.offer(operation);
  }

  /**
   * Some portals know the result and want to hear it once more; others have lost what they knew. The latter
   * alone is fair to an agent that has lost it too.
   */
  function offerAgain(kind: string | null): void {
    const [which, how] = [random.fraction(), random.fraction()];
    if (waiting() >= MOST_WAITING) return;
    // What the agent has still to tell of one is no new run of it.
    const told = storedOperation(node);
    const ended = portal.portal.state.operations.filter(({ id, offer, result }) =>
      result !== null && id !== told && (kind === null || kindOf(offer) === kind)
    );
    const operation = ended[Math.floor(which * ended.length)];
    if (operation === undefined) return;
    const knows = how < 0.5 && kind === null && !portal.wasForgotten(operation);
    say(`operation ${operation.id} is offered again${knows ? "" : ", its result is forgotten"}`);
    if (knows) operation.again = true;
    else portal.forget(operation);
  }

  function revoke(): void {
    const agent = activeAgent(portal.portal.state, node.name.clusterId, node.name.nodeName);
    if (agent === null) return;
    say("its identity is revoked");
    agent.revoked = true;
    timeline.after(GRACE_MS, () => {
      say("its identity counts again");
      agent.revoked = false;
      restartUntilHeard(0);
    });
  }

  /** An agent that found itself revoked asks once at each of its starts: somebody restarts it. */
  function restartUntilHeard(looks: number): void {
    const agent = activeAgent(portal.portal.state, node.name.clusterId, node.name.nodeName);
    // Heard once proves nothing: the answer may have been lost.
    if (agent === null || looks === LOOKS) return;
    const isHeard = timeline.clock.now() - (agent.lastSyncAt ?? 0) < HEARD_MS;
    if (!isHeard) {
      say("somebody restarts the agent");
      node.kill();
    }
    timeline.after(LOOK_MS, () => restartUntilHeard(isHeard ? looks + 1 : 0));
  }

  /** The newest snapshot that a result told of; where that is gone or forgotten, somebody looks into the bucket. */
  function lastSnapshot(): string | null {
    const saved = portal.portal.state.operations.findLast(({ result }) =>
      result?.state === "succeeded" && typeof result.output?.["file"] === "string"
    );
    const file = String(saved?.result?.output?.["file"]);
    return saved !== undefined && node.bucket.has(file) ? file : node.bucket.newest();
  }

  /** A restore that failed with k3s held is followed by another: nobody leaves a cluster like that. */
  function makeGood(): void {
    timeline.after(LOOK_MS, makeGood);
    const { operations } = portal.portal.state;
    if (operations.some(({ result }) => result === null)) return;
    const last = operations.findLast(({ offer }) => kindOf(offer) === "cluster.restore");
    if (last?.result?.state === "failed" && node.cluster.unit() !== "active") {
      offer("cluster.restore");
    }
  }

  function again(perHour: number, work: () => void): void {
    const pause = drawPause(perHour, random);
    if (pause === Infinity) return;
    timeline.after(pause, () => {
      if (isSettled) return;
      work();
      again(perHour, work);
    });
  }

  note(wanted);
  noteSecrets(portal.cluster.bootstrap, secrets);
  again(
    work.changes,
    () => desire(random.fraction() < work.bad_changes ? badChange(random) : goodChange(random)),
  );
  again(work.updates, update);
  again(work.windows, () => desire(otherWindows(random, timeline.clock.now())));
  again(work.offered_again, () => offerAgain(null));
  again(work.revocations, revoke);
  for (const [kind, perHour] of Object.entries(work.operations)) again(perHour, () => offer(kind));
  timeline.after(LOOK_MS, makeGood);

  return {
    offered,
    secrets,
    wanted: () => wanted,
    offerAgain,
    settle() {
      isSettled = true;
      const last = updateChange(LAST_VERSION, catalogue);
      desire({ ...last, patch: { ...last.patch, maintenance: ALWAYS } });
    },
  };
}

function kindOf(offer: QueuedOperation["offer"]): JsonValue | undefined {
  return isJsonObject(offer) ? offer["kind"] : undefined;
}

/** Collects what is sent sealed. */
function noteSecrets(value: JsonValue, secrets: Set<string>): void {
  if (Array.isArray(value)) return value.forEach((item) => noteSecrets(item, secrets));
  if (!isJsonObject(value)) return;
  if (typeof value["plain"] === "string") secrets.add(value["plain"]);
  for (const inner of Object.values(value)) noteSecrets(inner, secrets);
}
