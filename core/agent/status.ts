import { readHold, readHoldFile } from "../operations/restore/hold.ts";
import { type MovedAside, movedAside } from "../operations/restore/remove_old.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { OperationResult } from "../protocol/operation.ts";
import type { Condition, SyncRequest } from "../protocol/sync.ts";
import { NO_TRUST } from "../state/trust_config.ts";
import { trustOf } from "./trust.ts";
import type { Result } from "../result.ts";
import { loadBootstrap } from "../state/bootstrap.ts";
import { type Config, parseConfig } from "../state/config.ts";
import type { Custody } from "../state/custody.ts";
import type { Found } from "../state/durable.ts";
import { loadIdentity } from "../state/identity.ts";
import type { Journal } from "../state/journal.ts";
import { wrongModes } from "../state/modes.ts";
import { ownerOf } from "../state/owner.ts";
import { CONFIG_FILE } from "../state/paths.ts";
import { readOnlyDisk } from "../state/read_only_disk.ts";
import { EMPTY_STATE, type Stage, type State } from "../state/state.ts";
import { loadState } from "../state/store.ts";
import { custodyBy } from "./custody.ts";
import { readPendingRestart } from "./converge_host.ts";
import { readRegistries, type RegistriesStatus } from "./host_files.ts";
import { evidenceOf, hasMove, stageAtStart } from "./life.ts";
import { otherServer } from "./server_guard.ts";

/** What `pbx-agent status` tells. It holds no secret and no part of one. */
export interface Status {
  readonly stage: Stage;
  /** What could not be read of the agent's own files, for people. */
  readonly problems: readonly string[];
  /** Files that others may read or write: a start repairs them. And links, which stop a start. */
  readonly wrong_modes: readonly string[];
  readonly portal: string | null;
  readonly cluster_id: string | null;
  readonly node_name: string | null;
  readonly agent_id: string | null;
  /** The server that the identity was made for. */
  readonly server_id: string | null;
  /** The server that the metadata service says this is, asked just now; null where it is not known. */
  readonly runs_on: string | null;
  /** What it means that the two differ, and the ways out; null where they do not. */
  readonly other_server: string | null;
  /** Still in the configuration: not enrolled yet, or not tidied up yet. */
  readonly enrollment_token: "present" | "absent";
  readonly keys_created_at: string | null;
  readonly first_start: State["first_start"];
  readonly desired: {
    readonly revision: number;
    readonly tag: string;
    readonly release: string;
    readonly agent_version: string;
  } | null;
  readonly pending: { readonly k3s_restart: boolean; readonly reason?: string };
  /** Where images come from instead; null where the desired state does not say. */
  readonly registries: RegistriesStatus | null;
  /** What is under way or failed of own updates: from, to, step, deadline, when it is tried again. */
  readonly update: State["update"];
  readonly conditions: readonly Condition[];
  /** The operation under way, or the one whose result the portal has not acknowledged yet. */
  readonly operation: OperationStatus | null;
  /**
   * Who may act on k3s and its cluster: the agent, an operation that has not proven the cluster yet, or
   * nobody. By what the agent's files say; the API is not asked.
   */
  readonly custody: { readonly who: "agent" } | Exclude<Custody, { readonly who: "agent" }>;
  /** Why an operation keeps k3s from starting, as its hold file says; null where none does. */
  readonly k3s_hold: string | null;
  /** The databases and certificates that restores moved aside and that take room; null where none did. */
  readonly moved_aside: MovedAside | null;
  /** What hinders the exchange with the portal now; null while it answers. */
  readonly trouble: State["trouble"];
  /** Failures in a row by kind of request, and how long the portal asked to be left alone. */
  readonly channels: State["channels"];
  readonly clock_offset_ms: number;
  /** Which powers have to be proven (trust.md); any answer is believed about one that is `off`. */
  readonly trust: NonNullable<SyncRequest["node"]["trust"]>;
}

/** How far an operation has come. */
export interface OperationStatus {
  readonly id: string;
  readonly kind: string;
  readonly state: "running" | OperationResult["state"];
  /** The step that runs, or in which it ended; null before the first one. */
  readonly step: string | null;
  /** When that step began; null before the first one. */
  readonly step_since: string | null;
}

/** Asks the metadata service which server this is, for a short while; null where it does not say. */
export type AskServer = (metadataUrl?: string) => Promise<string | null>;

/**
 * Reads the agent's files, beside a running agent too: it writes nothing. An agent on another server writes
 * nothing either, so the server is asked for here.
 */
export async function readStatus(realDisk: Disk, askServer: AskServer = notAsked): Promise<Status> {
  const disk = readOnlyDisk(realDisk);
  const problems: string[] = [];
  const config = await readConfig(disk, problems);
  const identityFile = understood("identity.json", await loadIdentity(disk), problems);
  const identity = identityFile.kind === "loaded" ? identityFile.value : null;
  const binding = identity?.binding ?? null;
  const bootstrapFile = understood("bootstrap.json", await loadBootstrap(disk, identity), problems);
  const stateFile = understood(
    "state.json",
    await loadState(disk, binding?.agent_id ?? await ownerOf(disk)),
    problems,
  );

  const state = stateFile.kind === "loaded" ? stateFile.value : EMPTY_STATE;
  const modes = (await wrongModes(disk)).map(({ message }) => message);
  const runsOn = binding === null ? null : await askServer(config?.metadataUrl);
  const isElsewhere = binding !== null && runsOn !== null && runsOn !== binding.server_id;
  const hasToken = config?.enrollmentToken !== undefined;
  const stage = stageAtStart(evidenceOf({
    identity: identityFile,
    bootstrap: bootstrapFile,
    stateFile: stateFile.kind,
    state,
    config,
  }));
  const { desired, operation } = state;
  const pending = await readPendingRestart(disk, state);
  const aside = await movedAside(disk);
  const custody = custodyBy(state, { seen: null, hold: await readHoldFile({ disk }) });
  return {
    // That the portal refused for good is not in any other file.
    stage: isElsewhere && hasMove(stage, "server_differs")
      ? "other_server"
      : stage === "enrolling" && state.stage === "refused"
      ? "refused"
      : stage,
    problems,
    wrong_modes: modes,
    portal: config?.portal ?? binding?.portal ?? null,
    cluster_id: binding?.cluster_id ?? config?.clusterId ?? null,
    node_name: binding?.node_name ?? config?.nodeName ?? null,
    agent_id: binding?.agent_id ?? null,
    server_id: binding?.server_id ?? null,
    runs_on: runsOn,
    other_server: isElsewhere ? otherServer(binding.server_id, runsOn) : null,
    enrollment_token: hasToken ? "present" : "absent",
    keys_created_at: identity?.keys.created_at ?? null,
    first_start: state.first_start,
    desired: desired === null ? null : {
      revision: desired.state.revision,
      tag: desired.tag,
      release: desired.state.release,
      agent_version: desired.state.agent.version,
    },
    pending: pending.pending
      ? { k3s_restart: true, reason: pending.reason }
      : { k3s_restart: false },
    registries: await readRegistries(disk, state),
    update: state.update,
    conditions: state.conditions,
    operation: operation === null ? null : operationStatus(operation),
    custody: custody.who === "agent" ? { who: "agent" } : custody,
    k3s_hold: (await readHold({ disk }))?.trimEnd() ?? null,
    moved_aside: aside.folders.length === 0 ? null : aside,
    trouble: state.trouble,
    channels: state.channels,
    clock_offset_ms: state.clock_offset_ms,
    trust: trustOf(config?.trust ?? NO_TRUST, identity),
  };
}

function notAsked(): Promise<null> {
  return Promise.resolve(null);
}

function operationStatus({ id, kind, step, steps, result }: Journal): OperationStatus {
  const since = steps.at(-1)?.started_at ?? null;
  return { id, kind, state: result?.state ?? "running", step, step_since: since };
}

async function readConfig(disk: Disk, problems: string[]): Promise<Config | null> {
  const file = await disk.read(CONFIG_FILE);
  if (!file.ok) problems.push(file.error.message);
  if (!file.ok || file.value === null) return null;
  const config = parseConfig(new TextDecoder().decode(file.value));
  if (!config.ok) problems.push(`${CONFIG_FILE}: ${config.error}`);
  return config.ok ? config.value : null;
}

/** What was found; what could not be understood is told as a problem. */
function understood<T>(
  name: string,
  file: Result<Found<T>, DiskError>,
  problems: string[],
): Found<T> {
  if (!file.ok) {
    problems.push(file.error.message);
    return { kind: "unreadable", reason: file.error.message };
  }
  const found = file.value;
  if (found.kind === "unreadable") problems.push(`${name} ${found.reason}`);
  if (found.kind === "newer") {
    problems.push(`${name} has format ${found.format}, written by a newer version`);
  }
  return found;
}
