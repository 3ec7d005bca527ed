import { type EngineContext, failOperation, runOperation } from "../operations/engine.ts";
import type { AnyDefinition } from "../operations/definition.ts";
import type { NodeFacts } from "../operations/node_facts.ts";
import { pruneOperationLogs } from "../operations/operation_log.ts";
import { withJournal } from "../operations/outbox.ts";
import { foreignRefusal, lateRefusal, mayHaveExpired, staleRefusal } from "../operations/offer.ts";
import { definitionOf } from "../operations/registry.ts";
import { heldCluster } from "../operations/restore/hold.ts";
import type { OperationResult } from "../protocol/operation.ts";
import { fail, ok } from "../result.ts";
import type { Bootstrap } from "../state/bootstrap.ts";
import { otherCluster } from "../state/custody.ts";
import { withEntry } from "../state/history.ts";
import type { Journal } from "../state/journal.ts";
import type { State } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { correctedNow, timestamp, witnesses } from "./context.ts";
import { custodyBy, lookAtCluster } from "./custody.ts";
import { readPendingRestart } from "./converge_host.ts";
import { readBootstrap } from "./read_bootstrap.ts";
import { BY_AGENT, endedEvent, entryOf } from "./history_entry.ts";
import { judgeRelease } from "./release_guard.ts";
import { openReleases } from "./releases.ts";
import { openRotation } from "./rotation.ts";

/**
 * Runs the stored operation to its end, or until the program ends. `changed`: there is news to send.
 * `find`: the registry. `leads`: whether this node's agent leads now.
 */
export async function operate(
  context: BoundContext,
  changed: () => void,
  find = definitionOf,
  leads = () => true,
): Promise<void> {
  const { store, ports } = context;
  const untilCut = async () => {
    changed();
    await ports.clock.sleep(CUT_MS, context.stop);
  };
  /** What is noted where the operation has a result from now on. */
  const endEntry = ({ id, kind, result }: Journal) =>
    result === undefined || present(store.state.operation).result !== undefined
      ? null
      : entryOf(context, BY_AGENT, endedEvent(id, kind, result));
  const engine: EngineContext = {
    ports,
    node: await nodeFacts(context, await readBootstrap(context)),
    snapshots: context.snapshots,
    sealingKeys: () => context.identity.sealingKeys,
    rotation: openRotation(context, untilCut),
    leads,
    async release(version) {
      const releases = openReleases("aside");
      const found = await releases.get(context, version);
      if (!found.ok && found.error.code === "stop") await untilCut();
      if (!found.ok) return found;
      // An operation alone gets no old release in (trust.md T5).
      const age = await judgeRelease(context, releases, found.value, false);
      return age.kind === "refused" ? fail({ code: age.code, message: age.message }) : found;
    },
    async rememberCluster(uid) {
      const { kube_system_uid, first_start } = store.state;
      // What an operation brought up and proved is not configured and started a first time after it.
      const isStarting = BEFORE_PROOF.includes(first_start);
      if (kube_system_uid === uid && !isStarting) return ok(undefined);
      return await store.commit((state) => ({
        ...state,
        kube_system_uid: uid,
        first_start: isStarting ? "write_secrets" : state.first_start,
      }));
    },
    stop: context.stop,
    timestamp: () => timestamp(context),
    journal: () => present(store.state.operation),
    async record(change) {
      const entry = endEntry(change(present(store.state.operation)));
      const stored = await store.commit((state) => {
        const after = withJournal(state, change(present(state.operation)), witnesses(context));
        return entry === null ? after : withEntry(after, entry);
      });
      if (stored.ok && entry !== null) await context.history.flush();
      if (stored.ok) changed();
      return stored;
    },
  };
  const { id, kind } = engine.journal();
  await context.history.flush();
  const definition = find(kind);
  if (mayHaveExpired(engine.journal()) && !context.time.isHeard()) {
    // How long the machine was off is not for the wall clock alone to say.
    await ports.clock.sleep(AGAIN_MS, context.stop);
    return;
  }
  const late = lateRefusal(engine.journal(), correctedNow(context)) ??
    staleRefusal(engine.journal(), definition) ??
    await refusedByCluster(context, definition);
  if (late !== null) {
    const refused = await engine.record((journal) => ({ ...journal, result: late }));
    // What could not be stored is looked at again by the next turn.
    if (!refused.ok) await ports.clock.sleep(AGAIN_MS, context.stop);
    else ports.log.write("error", "operation_ended", `operation ${id} (${kind}) ${late.message}`);
    return;
  }
  await pruneOperationLogs(
    ports.disk,
    (known) => known === id || Object.hasOwn(store.state.finished, known),
    witnesses(context),
  );
  const end = definition === null
    ? await failOperation(engine, "unknown_kind", `this version of the agent has no ${kind}`)
    : await runOperation(engine, definition);
  if (end === "aborted") return;
  const result = store.state.finished[id]?.result;
  const why = result?.message === undefined ? "" : `: ${result.message}`;
  ports.log.write(
    result?.state === "succeeded" ? "info" : "error",
    "operation_ended",
    `operation ${id} (${kind}) ${result?.state}${why}`,
    { operation: id, kind, state: result?.state },
  );
}

const BEFORE_PROOF: readonly State["first_start"][] = ["configure", "start", "wait_api"];

/** The cluster may have been replaced since the operation was taken in hand: nothing of it begins there. */
async function refusedByCluster(
  { ports, store }: BoundContext,
  definition: AnyDefinition | null,
): Promise<OperationResult | null> {
  if (definition === null || store.state.operation?.step !== null) return null;
  const custody = custodyBy(store.state, await lookAtCluster(ports));
  return foreignRefusal(definition, otherCluster(custody));
}

/** How long to wait until what the disk did not take is tried again, or what is not known yet, milliseconds. */
const AGAIN_MS = 5_000;

/**
 * How long an operation whose request was answered with 401 waits to be cut off, milliseconds: serving ends
 * for that, and the step stays the recorded one.
 */
const CUT_MS = 10_000;

async function nodeFacts(
  context: BoundContext,
  bootstrap: Bootstrap | null,
): Promise<NodeFacts> {
  const { state } = context.store;
  const desired = state.desired?.state ?? null;
  const pending = await readPendingRestart(context.ports.disk, state);
  return {
    binding: context.binding,
    agentVersion: context.program.version,
    desired,
    secrets: desired?.secrets ?? bootstrap?.answer.secrets ?? {},
    apiUrl: apiUrl(bootstrap),
    kubeSystemUid: state.kube_system_uid ?? await heldCluster(context.ports),
    arch: context.program.arch,
    releases: [desired?.release, bootstrap?.answer.release].filter((one) => one !== undefined),
    pendingRestart: pending.pending ? pending.reason : null,
    gateMs: context.gateMs,
    hasOwner: context.config.trust.approvalKeys.length > 0,
  };
}

const LOCAL_API = "https://127.0.0.1:6443";

/** k3s's `tls-san` names the addresses that people use; without one only the node itself is known. */
function apiUrl(bootstrap: Bootstrap | null): string {
  const names = bootstrap?.answer.k3s.config["tls-san"];
  const first = Array.isArray(names) ? names[0] : names;
  const host = typeof first === "string" && first.includes(":") ? `[${first}]` : first;
  const url = typeof host === "string" ? `https://${host}:6443` : LOCAL_API;
  return URL.canParse(url) ? url : LOCAL_API;
}

function present(journal: Journal | null): Journal {
  if (journal === null) throw new Error("the operation that runs has no journal");
  return journal;
}
