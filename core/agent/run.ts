import type { DiskError } from "../ports/disk.ts";
import type { Ports } from "../ports/mod.ts";
import type { Config } from "../state/config.ts";
import { watchDisk } from "../state/disk_watch.ts";
import type { KeyWork } from "../protocol/key_work.ts";
import { sign as signInScript } from "../protocol/signing.ts";
import { type Identity, newKeys, saveIdentity } from "../state/identity.ts";
import { repairModes } from "../state/modes.ts";
import { IDENTITY_FILE } from "../state/paths.ts";
import { openSnapshotRecord } from "../state/snapshot_record.ts";
import { openStore } from "../state/store.ts";
import { GATE_MS } from "../operations/upgrade/return_units.ts";
import { TRIAL_MS } from "../update/rollback_units.ts";
import { openApprovalMemory } from "./approval_memory.ts";
import { openChannels } from "./channels.ts";
import { openCorrectedClock } from "./corrected_clock.ts";
import type { BoundContext, Context } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";
import { enroll } from "./enroll.ts";
import { openHistory } from "./history.ts";
import { holdIdentity, type IdentityHolder } from "./identity_holder.ts";
import { type LifeEvent, next } from "./life.ts";
import type { Stage } from "../state/state.ts";
import type { ProgramInfo } from "./program_info.ts";
import { liveOnServer } from "./server_guard.ts";
import { openRequestMemory } from "./request_memory.ts";
import { knock, waitToKnock } from "./knock.ts";
import { serve } from "./serve.ts";
import { type Beginning, readBeginning, serverOf } from "./start.ts";
import { noteTrouble } from "./trouble.ts";
import { noteStart } from "./trust_history.ts";

/** What the agent is started with. */
export interface Setup extends KeyWork {
  readonly ports: Ports;
  readonly program: ProgramInfo;
  readonly config: Config;
  /** Aborts when the program has to end. */
  readonly stop: AbortSignal;
  /** How far cycles are apart, milliseconds; 30 s where a lab does not say otherwise. */
  readonly cycleMs?: number;
  /** How long a new version has to sync, milliseconds; 10 minutes where a lab does not say otherwise. */
  readonly trialMs?: number;
  /** How long the image of an upgrade has, milliseconds; 20 minutes where a lab does not say otherwise. */
  readonly gateMs?: number;
}

/**
 * How a run ended: told to (`stopped`), for another version to start (`updated`), or unable to start on
 * the files as they are (`unusable`). An agent that idles runs until it is stopped.
 */
export type RunEnd = { readonly kind: "stopped" | "updated" } | {
  readonly kind: "unusable";
  readonly message: string;
};

/** Cycles are this far apart (protocol §4), milliseconds. */
const CYCLE_MS = 30_000;

/** The agent's whole life, from the files it finds to the signal that ends it. */
export async function runAgent(setup: Setup): Promise<RunEnd> {
  while (true) {
    const madeFor = await serverOf(setup.ports.disk);
    if (!madeFor.ok) return { kind: "unusable", message: madeFor.error.message };
    // An agent that is not enrolled yet says where it runs when it enrolls.
    if (madeFor.value === null) return await runHere(setup);
    const end = await liveOnServer(
      setup.ports,
      setup.stop,
      madeFor.value,
      (ports, stop) => runHere({ ...setup, ports, stop }),
    );
    if (end === "stopped") return { kind: "stopped" };
    if (end !== null) return end;
  }
}

/** The agent's life on the server that it was made for, as far as that is known. */
async function runHere(setup: Setup): Promise<RunEnd> {
  const watched = watchDisk(setup.ports.disk, setup.ports.clock);
  const ports: Ports = { ...setup.ports, disk: watched.disk };
  const repaired = await repairModes(ports.disk, ports.log);
  if (!repaired.ok) return { kind: "unusable", message: repaired.error };
  const startedAt = new Date(ports.clock.now()).toISOString();
  const beginning = await readBeginning({
    disk: ports.disk,
    log: ports.log,
    config: setup.config,
    now: startedAt,
    version: setup.program.version,
  });
  if (!beginning.ok) return { kind: "unusable", message: beginning.error };

  const context = await openContext({ ...setup, ports }, beginning.value, watched.trouble);
  return { kind: await live(context, beginning.value) };
}

async function openContext(
  { ports, program, config, stop, cycleMs, trialMs, gateMs, ...keyWork }: Setup,
  { state, saved }: Beginning,
  diskTrouble: () => DiskError | null,
): Promise<Context> {
  const store = openStore(ports.disk, state, saved);
  const time = await openCorrectedClock({ clock: ports.clock, machine: ports.machine, store });
  return {
    ports,
    program,
    config,
    store,
    // What is left of a wait is not for a wall clock to say that somebody may have set meanwhile.
    channels: openChannels(store, { ...ports.clock, now: time.now }, ports.random),
    time,
    approvals: openApprovalMemory(),
    snapshots: openSnapshotRecord(ports.disk),
    history: openHistory({ disk: ports.disk, log: ports.log, store }),
    requests: openRequestMemory(Math.floor(time.now() / 1000)),
    stop,
    cycleMs: cycleMs ?? CYCLE_MS,
    trialMs: trialMs ?? TRIAL_MS,
    gateMs: gateMs ?? GATE_MS,
    ...keyWork,
    sign: keyWork.sign ?? signInScript,
    diskTrouble,
  };
}

/** Walks the transition table until the program has to end. */
async function live(context: Context, beginning: Beginning): Promise<"stopped" | "updated"> {
  const { log } = context.ports;
  let stage: Stage = beginning.stage;
  let identity = beginning.identity;
  let holder: IdentityHolder | null = null;
  let pair: number | null = null;
  const running = { operation: false };
  log.write("info", "stage", `the agent starts as ${stage}`, { stage });

  const move = async (event: LifeEvent) => {
    const to = next(stage, event);
    log.write("info", "stage", `${stage} is over by ${event}: now ${to}`, {
      from: stage,
      stage: to,
    });
    stage = to;
    await noteStage(context, stage, identity);
  };

  /** The context with the identity; what the history has to say about this start is noted once. */
  const begin = async (): Promise<BoundContext> => {
    const isFirst = holder === null;
    holder ??= hold(context, identity);
    const bound = await settle(context, holder);
    if (isFirst) await noteStart(bound);
    await context.history.flush();
    return bound;
  };

  // No file may come before identity.json: beside one, its absence means that it was lost.
  if (stage !== "unenrolled") await noteStage(context, stage, identity);
  while (!context.stop.aborted) {
    switch (stage) {
      case "unenrolled": {
        const created = await createKeys(context);
        if (created === null) break;
        identity = created;
        await move("keys_stored");
        break;
      }
      case "enrolling": {
        const enrollment = await enroll(context, present(identity));
        if (enrollment.kind === "aborted") return "stopped";
        if (enrollment.kind === "refused") {
          await move("enrollment_refused");
          break;
        }
        identity = enrollment.identity;
        await move("enrolled");
        break;
      }
      case "starting_k3s":
      case "syncing": {
        if (stage === "starting_k3s" && context.store.state.first_start === "done") {
          await move("k3s_started");
        }
        const bound = await begin();
        const end = await serve(bound, move, running);
        if (end === "aborted") return "stopped";
        if (end === "installed") return "updated";
        await noteRevoked(context);
        await move("identity_revoked");
        await context.history.flush();
        await waitToKnock(context);
        break;
      }
      case "revoked": {
        const bound = await begin();
        // Which pair comes first is by chance: an agent that is restarted within the hour tries both.
        pair ??= Math.round(context.ports.random.fraction());
        if (await knock(bound, pair++)) {
          await move("identity_accepted");
          break;
        }
        if (context.stop.aborted) return "stopped";
        // A 200 that a 401 followed has cleared it.
        await context.store.keep((state) => ({ ...state, revoked: true }));
        log.write("error", "revoked", "this identity is revoked: will ask again in about an hour");
        await context.history.flush();
        await waitToKnock(context);
        break;
      }
      case "other_server":
        // Stands still outside of this life, so that not even a file of it is read.
        throw new Error("nobody lives on another server");
      case "refused":
      case "identity_unreadable":
        await sayWhyIdle(context, stage);
        await idle(context);
        return "stopped";
    }
  }
  return "stopped";
}

/** Notes it, and whose state this is from now on. */
async function noteStage(
  { store }: Context,
  stage: Stage,
  identity: Identity | null,
): Promise<void> {
  const agent = identity?.binding?.agent_id ?? store.state.agent;
  await store.keep((state) => ({ ...state, stage, agent }));
}

/** What a sync, a manifest or events were refused with says the same: the identity counts no more. */
async function noteRevoked(context: Context): Promise<void> {
  await context.store.keep((state) => ({ ...state, revoked: true }));
  if (context.store.state.trouble?.code === "revoked") return;
  await noteTrouble(context, "revoked", "the portal refuses this identity");
}

/** The identity that the stage is certain to have. */
function present(identity: Identity | null): Identity {
  if (identity === null) throw new Error("this stage has keys");
  return identity;
}

/** Holds the identity that the stage is certain to have an ID in. */
function hold(context: Context, identity: Identity | null): IdentityHolder {
  const { binding, ...keys } = present(identity);
  if (binding === null) throw new Error("this stage has an ID");
  return holdIdentity(context.ports.disk, { ...keys, binding }, context);
}

/** Makes keys and stores them before they are used; null when they could not be stored yet. */
async function createKeys(context: Context): Promise<Identity | null> {
  const { disk, random, clock, log } = context.ports;
  const keys = newKeys(random, new Date(clock.now()).toISOString());
  const identity: Identity = { binding: null, keys };
  const saved = await saveIdentity(disk, identity);
  if (saved.ok) {
    log.write("info", "keys_created", "made and stored an Ed25519 and an X25519 key");
    return identity;
  }
  log.write("error", "keys_not_stored", saved.error.message);
  await clock.sleep(KEYS_AGAIN_MS, context.stop);
  return null;
}

/** How long to wait before keys are stored again where the disk did not take them, milliseconds. */
const KEYS_AGAIN_MS = 5_000;

/** The context of an agent that has an ID, with what its configuration says about that. */
async function settle(context: Context, identity: IdentityHolder): Promise<BoundContext> {
  const { config } = context;
  const { binding } = identity.current;
  await clearConditions(context, "identity_unreadable");
  if (config.clusterId === binding.cluster_id && config.nodeName === binding.node_name) {
    await clearConditions(context, "already_bound");
    return { ...context, binding, identity, portal: config.portal };
  }
  await raiseCondition(
    context,
    "already_bound",
    `config.yaml names node ${config.nodeName} of cluster ${config.clusterId}; this agent is node ` +
      `${binding.node_name} of cluster ${binding.cluster_id} and stays that: to make it another, ` +
      "uninstall it first",
  );
  return { ...context, binding, identity, portal: binding.portal };
}

async function idle({ ports, stop }: Context): Promise<void> {
  while (!stop.aborted) await ports.clock.sleep(IDLE_MS, stop);
}

/** An idle agent only waits for the signal that ends it; the length is of no matter, milliseconds. */
const IDLE_MS = 3_600_000;

async function sayWhyIdle(context: Context, stage: "refused" | "identity_unreadable") {
  if (stage === "identity_unreadable") {
    await raiseCondition(
      context,
      "identity_unreadable",
      `${IDENTITY_FILE} is unreadable or gone although this node has been enrolled or asked to be: ` +
        "put it back from a backup, or `pbx-agent uninstall --yes` and install it anew with a new token",
    );
    return;
  }
  const trouble = context.store.state.trouble;
  context.ports.log.write(
    "error",
    "idle",
    `idle until a restart: ${trouble?.message ?? "the portal refused the enrollment"}`,
  );
}
