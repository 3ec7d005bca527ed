import { definitionOf } from "../operations/registry.ts";
import { isPlausibleTime } from "../protocol/answer.ts";
import type { OfferedOperation } from "../protocol/operation.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { type ClusterLook, whyNotAgent } from "../state/custody.ts";
import { type Orderer, withEntry } from "../state/history.ts";
import type { State } from "../state/state.ts";
import { accept, refuse } from "./accept.ts";
import type { BoundContext } from "./context.ts";
import { bindStored, boxRules, demandBound } from "./boxes.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import { createLeader, type Leader } from "../cluster/leader.ts";
import { type ClusterKeeper, openClusterKeeper } from "./converge_cluster.ts";
import { type HostKeeper, openHostKeeper } from "./converge_host.ts";
import { custodyBy, custodyOfNode, judgeCluster } from "./custody.ts";
import { exchange, judgeOffset, type Outcome, type SignedRequest } from "./exchange.ts";
import { byPortal, entryOf } from "./history_entry.ts";
import { judgeSyncAnswer } from "./judge.ts";
import { openOwnUpdate, type OwnUpdate } from "./own_update.ts";
import { leadsCluster } from "./leads.ts";
import { trustOf } from "./trust.ts";
import { type Observation, type Observer, openObserver } from "./observe.ts";
import { noteStored, noteSynced } from "./release_guard.ts";
import { noteProvenTime } from "./release_memory.ts";
import { openReleases, type Releases } from "./releases.ts";
import { buildReport } from "./report.ts";
import { adoptKeys, confirmKeys, openLeftRotation, sealedToStay } from "./rotation.ts";
import { takeOffer } from "./take_offer.ts";
import { clearTrouble, noteTrouble } from "./trouble.ts";

/** What lives from cycle to cycle. */
export interface CycleParts {
  /** No cycle was run yet since the agent's start. */
  first: boolean;
  readonly observer: Observer;
  readonly releases: Releases;
  readonly update: OwnUpdate;
  readonly host: HostKeeper;
  readonly cluster: ClusterKeeper;
  /** Asked where the cluster has more than one server; somebody else renews its lease. */
  readonly leader: Leader;
  /** Completes a rotation of the keys that its operation left. */
  readonly completeRotation: (context: BoundContext) => Promise<void>;
}

/** Fresh parts, at the agent's start. */
export function openCycleParts(context: BoundContext): CycleParts {
  const { ports, binding } = context;
  const { k8s, clock, log } = ports;
  const whyNot = async () => whyNotAgent(await custodyOfNode(context));
  return {
    first: true,
    observer: openObserver(),
    releases: openReleases(),
    update: openOwnUpdate(),
    host: openHostKeeper(),
    cluster: openClusterKeeper(),
    leader: createLeader({ k8s, clock, log, holder: binding.node_name, whyNot }),
    completeRotation: openLeftRotation(),
  };
}

/** How a sync ended. `accepted`: the portal answered with 200. */
export type SyncEnd = "accepted" | "not_synced" | "stop" | "aborted";

/** How a cycle ended. `installed`: another version is in place, and this program has to end. */
export type CycleEnd = SyncEnd | "installed";

/** What a sync left to do. */
export interface Synced {
  readonly end: SyncEnd;
  readonly operation: OfferedOperation | null;
  /** Who offers that, where there is one. */
  readonly by?: Orderer;
}

/**
 * One cycle (protocol §4): report and receive where it is time for that, then converge in the order own
 * update, host, cluster, then the operation. Without the portal the last desired state is kept up.
 */
export async function cycle(context: BoundContext, parts: CycleParts): Promise<CycleEnd> {
  await context.store.flush();
  await context.time.save(saveEvery(context.store.state));
  await judgeDisk(context);
  const observation = await parts.observer.observe(context);
  await judgeApi(context, observation, parts.first);
  const look = await judgeCluster(context, observation.kubeSystemUid);
  if (parts.first) await noteStored(context, parts.releases);
  parts.first = false;
  const synced = context.channels.waitMs("sync") > 0
    ? { end: "not_synced" as const, operation: null }
    : await sync(context, parts, { ...observation, look });
  if (synced.end === "stop" || synced.end === "aborted") return synced.end;

  // Without an answer there is no telling whether the new version could sync either.
  if (synced.end === "accepted" || context.requests.demanded() !== null) {
    const updated = await parts.update.advance(context, parts.releases);
    if (updated !== "done") return updated;
  }
  await parts.host.converge(context);
  const turn = {
    custody: custodyBy(context.store.state, look),
    leads: () =>
      leadsCluster(context.store.state, { leader: parts.leader, apiUp: observation.apiUp, look }),
  };
  const converged = await parts.cluster.converge(context, parts.releases, turn);
  if (converged !== "done") return converged;
  const isRestarting = parts.host.isRestarting(context, observation.apiUp);
  if (synced.end === "accepted" && !(isRestarting && needsApi(synced.operation))) {
    await takeOffer(context, synced.operation, observation.apiUp, definitionOf, synced.by);
  }
  if (synced.end === "accepted") await parts.completeRotation(context);
  await context.history.flush();
  await judgeDisk(context);
  return synced.end;
}

/** A held version waits for time that the agent has lived: a crash must not cost it an hour of that. */
const HELD_SAVE_MS = 600_000;

/** How often the time that the agent has lived is stored, where that is more often than usual. */
function saveEvery({ update }: State): number | undefined {
  return Object.keys(update.holds).length > 0 ? HELD_SAVE_MS : undefined;
}

function needsApi(operation: OfferedOperation | null): boolean {
  return operation !== null && definitionOf(operation.kind)?.needsApi === true;
}

/** Reports and receives (protocol §4). `once`: one request, with this pair of keys, whatever comes back. */
export async function sync(
  context: BoundContext,
  parts: CycleParts,
  observation: Observation & { readonly look: ClusterLook },
  once?: SignedRequest["once"],
): Promise<Synced> {
  await parts.update.settle(context);
  const { apiUp, look } = observation;
  const leads = leadsCluster(context.store.state, { leader: parts.leader, apiUp, look });
  const report = buildReport({
    program: context.program,
    programSha256: await context.program.sha256(),
    keysCreatedAt: context.identity.current.keys.created_at,
    binding: context.binding,
    state: context.store.state,
    observation,
    leader: leads,
    pending: await parts.host.pending(context),
    addons: parts.cluster.reports(context, leads),
    trust: trustOf(context.config.trust, context.identity.current),
  });
  const outcome = await exchange(context, {
    channel: "sync",
    method: "POST",
    path: "/sync",
    body: report as unknown as JsonValue,
    ...(once === undefined ? {} : { once }),
  });
  switch (outcome.do) {
    case "apply": {
      const synced = await receive(context, parts, outcome, {
        desired: report.desired.tag !== null,
        at: outcome.sent,
      });
      if (synced.end !== "accepted") return synced;
      const operation = sealedToStay(context, synced.operation, outcome.current);
      await (outcome.current ? confirmKeys : adoptKeys)(context);
      return { ...synced, operation };
    }
    case "stop":
      await noteTrouble(context, "revoked", `the portal refuses this identity: ${outcome.message}`);
      return { end: "stop", operation: null };
    case "aborted":
      return { end: "aborted", operation: null };
    case "wait":
      await noteTrouble(
        context,
        "too_many_requests",
        `the portal asks to wait ${Math.round(outcome.ms / 1000)} s`,
      );
      break;
    case "update":
      await noteTrouble(context, "protocol_too_old", "the portal takes no agent this old");
      break;
    case "back_off":
    case "give_up":
      await noteTrouble(context, outcome.code, `the sync failed: ${outcome.message}`);
      break;
  }
  return { end: "not_synced", operation: null };
}

async function receive(
  context: BoundContext,
  parts: CycleParts,
  { body, unfit, signer }: Pick<
    Extract<Outcome, { do: "apply" }>,
    "body" | "unfit" | "signer"
  >,
  sent: {
    /** The report named an accepted desired state. */
    readonly desired: boolean;
    /** When it was sent, on the monotonic clock. */
    readonly at: number;
  },
): Promise<Synced> {
  // With keys an answer gets here only if it is proven; without, anybody could have said it (trust.md T1).
  const isBinding = context.config.trust.portalKeys.length > 0 && isJsonObject(body) &&
    body["sealing"] === "bound";
  const judgement = judgeSyncAnswer(
    body,
    context.identity.sealingKeys,
    unfit,
    hasBoxes(body) ? await boxRules(context, isBinding) : undefined,
  );
  if (judgement.kind === "malformed") {
    await context.channels.failed("sync");
    await noteTrouble(
      context,
      "malformed_answer",
      `the answer to the sync is malformed: ${judgement.message}`,
    );
    return { end: "not_synced", operation: null };
  }
  await context.channels.succeeded("sync");
  await parts.update.proven(context);
  const by = byPortal(signer);
  if (context.store.state.revoked) {
    const entry = entryOf(context, by, { what: "accepted_again" });
    await context.store.keep((state) => withEntry({ ...state, revoked: false }, entry));
  }
  if (await clearTrouble(context)) {
    context.ports.log.write("info", "portal_back", "the portal answers again");
  }
  if (sent.desired) await clearConditions(context, "state_lost");
  if (judgement.kind === "refused") {
    await refuse(context, judgement.code, judgement.message);
    return { end: "accepted", operation: null };
  }
  if (isPlausibleTime(judgement.portalTime)) {
    await context.time.told(judgement.portalTime, sent.at);
    // With keys only proven answers come here; without any, no answer is.
    if (context.config.trust.portalKeys.length > 0) {
      await noteProvenTime(context, judgement.portalTime);
    }
  }
  if (isBinding) await demandBoundBoxes(context);
  await bindLater(context, parts);
  await noteSynced(context, parts.releases);
  const { clock } = context.ports;
  const tookMs = clock.monotonic() - sent.at;
  const offsetMs = judgement.portalTime - clock.now();
  // An answer that was long under way says an old time: what that explains is no fault of the clock.
  await judgeOffset(context, offsetMs < 0 ? Math.min(offsetMs + tookMs, 0) : offsetMs);
  const end = await accept(
    context,
    parts.releases,
    judgement.offered,
    { boxes: judgement.unbound, by },
  );
  return { end: end === "done" ? "accepted" : end, operation: judgement.operation, by };
}

/** Binds what an earlier version stored, once this one has proven itself. */
async function bindLater(context: BoundContext, { update }: CycleParts): Promise<void> {
  if (context.identity.current.stored_bound === true || update.isOnTrial()) return;
  const bound = await bindStored(context);
  if (!bound.ok) {
    context.ports.log.write("warn", "boxes_not_bound", `${bound.error}; will try again`);
  }
}

/** What the disk does not take is demanded again with the next answer. */
async function demandBoundBoxes(context: BoundContext): Promise<void> {
  const demanded = await demandBound(context);
  if (!demanded.ok) {
    context.ports.log.write("warn", "bound_boxes_not_stored", `${demanded.error}; will try again`);
  }
}

/** Whether an answer can have a sealed box: most have neither a desired state nor an operation. */
function hasBoxes(body: JsonValue): boolean {
  return isJsonObject(body) &&
    ((body["desired"] ?? null) !== null || (body["operation"] ?? null) !== null);
}

/**
 * `first`: the first cycle after a start. A node that was just enrolled has no k3s yet, which is no
 * trouble; one whose k3s still does not run a cycle later has to be seen.
 */
async function judgeApi(
  context: BoundContext,
  { apiUp, k3sUnit }: Observation,
  first: boolean,
): Promise<void> {
  if (apiUp) {
    await clearConditions(context, "api_down");
    return;
  }
  const { first_start } = context.store.state;
  if (first && (first_start === "configure" || first_start === "start")) return;
  await raiseCondition(
    context,
    "api_down",
    `/readyz of the Kubernetes API does not answer 200; k3s.service is ${k3sUnit}`,
  );
}

async function judgeDisk(context: BoundContext): Promise<void> {
  const trouble = context.diskTrouble();
  if (trouble === null) await clearConditions(context, "disk_full");
  else await raiseCondition(context, "disk_full", trouble.message);
}
