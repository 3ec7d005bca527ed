import type { Disk, DiskError } from "../ports/disk.ts";
import type { Log } from "../ports/log.ts";
import { heldCluster } from "../operations/restore/hold.ts";
import { fail, ok, type Result } from "../result.ts";
import { type Bootstrap, loadBootstrap } from "../state/bootstrap.ts";
import type { Config } from "../state/config.ts";
import { raise } from "../state/conditions.ts";
import type { Found } from "../state/durable.ts";
import { type Identity, loadIdentity, saveIdentity } from "../state/identity.ts";
import type { Owner } from "../state/json_document.ts";
import { K3S_CONFIG_FILE, STATE_ASIDE_FILE, STATE_DIRECTORY, STATE_FILE } from "../state/paths.ts";
import { readOnlyDisk } from "../state/read_only_disk.ts";
import { EMPTY_STATE, type Stage, type State } from "../state/state.ts";
import { loadState } from "../state/store.ts";
import { readStanding } from "../update/standing.ts";
import { evidenceOf, stageAtStart } from "./life.ts";

/** What an agent starts from. */
export interface Beginning {
  readonly stage: Stage;
  readonly identity: Identity | null;
  readonly state: State;
  /** What state.json holds now; null where it has to be written anew. */
  readonly saved: State | null;
}

/** What a start reads with. */
export interface Reading {
  readonly disk: Disk;
  readonly log: Log;
  readonly config: Config;
  /** RFC 3339. */
  readonly now: string;
  /** Of this program. */
  readonly version: string;
}

/**
 * Reads the state directory and recovers what can be recovered (operations.md, Files). The error is for
 * people: the agent must not start on files that it cannot read or that a newer program wrote.
 */
export async function readBeginning(
  { disk, log, config, now, version }: Reading,
): Promise<Result<Beginning, string>> {
  const identityFile = await loadIdentity(disk);
  if (!identityFile.ok) return fail(identityFile.error.message);
  const keys = loaded(identityFile.value);
  const bootstrapFile = await loadBootstrap(disk, keys);
  if (!bootstrapFile.ok) return fail(bootstrapFile.error.message);
  const bootstrap = loaded(bootstrapFile.value);
  const owner = ownerAtStart(identityFile.value, bootstrap);
  const stateFile = await loadState(disk, owner);
  if (!stateFile.ok) return fail(stateFile.error.message);
  for (
    const [name, found] of [
      ["identity.json", identityFile.value],
      ["bootstrap.json", bootstrapFile.value],
      ["state.json", stateFile.value],
    ] as const
  ) {
    if (found.kind === "newer") {
      return fail(
        `${STATE_DIRECTORY}/${name} has format ${found.format}, written by a newer pbx-agent; ` +
          "this version leaves it alone: start the newer program",
      );
    }
  }

  if (stateFile.value.kind === "unreadable") {
    // The version before it may be able to read what this one cannot, and get it back as it was.
    const standing = await readStanding({ disk }, version);
    if (standing.kind === "on_trial") {
      return fail(
        `${STATE_FILE} ${stateFile.value.reason}, and ${version} is on trial: it leaves the file ` +
          `to ${standing.trial.from}, which its timer puts back`,
      );
    }
  }

  // A process that was killed between a rename and its sync left what the power could still take back; what
  // is read here may be told to the portal.
  await disk.syncDirectory(STATE_DIRECTORY);
  if (bootstrapFile.value.kind === "unreadable") {
    log.write("error", "bootstrap_unreadable", `bootstrap.json ${bootstrapFile.value.reason}`);
  }
  const identity = await adopt(disk, log, keys, bootstrap);
  if (identityFile.value.kind === "unreadable") {
    log.write("error", "identity_unreadable", `identity.json ${identityFile.value.reason}`);
  }
  const bound = identity !== null && identity.binding !== null;
  const recovered = await recoverState(disk, log, stateFile.value, bound, now);
  if (!recovered.ok) return fail(recovered.error.message);
  const { state, saved } = recovered.value;
  const stage = stageAtStart(evidenceOf({
    identity: identityFile.value,
    bootstrap: bootstrapFile.value,
    stateFile: stateFile.value.kind,
    state,
    config,
  }));
  return ok({
    stage,
    identity,
    state: owner === undefined ? state : { ...state, agent: owner },
    saved,
  });
}

/**
 * The server that this node's identity was made for; null where the node is not enrolled. Writes nothing.
 * An identity that is unreadable signs nothing, so it is null there too.
 */
export async function serverOf(disk: Disk): Promise<Result<string | null, DiskError>> {
  const quiet = readOnlyDisk(disk);
  const file = await loadIdentity(quiet);
  if (!file.ok) return file;
  const identity = loaded(file.value);
  if (identity === null) return ok(null);
  if (identity.binding !== null) return ok(identity.binding.server_id);
  const bootstrap = await loadBootstrap(quiet, identity);
  return bootstrap.ok ? ok(loaded(bootstrap.value)?.server_id ?? null) : bootstrap;
}

/** Whose the files are: an answer that was stored before its ID reached identity.json names the agent too. */
function ownerAtStart(identity: Found<Identity>, bootstrap: Bootstrap | null): Owner {
  // Gone, beside younger files, it was lost and may come back: what it would find must still be there.
  if (identity.kind !== "loaded") return undefined;
  return identity.value.binding?.agent_id ?? bootstrap?.answer.agent_id ?? null;
}

function loaded<T>(found: Found<T>): T | null {
  return found.kind === "loaded" ? found.value : null;
}

/**
 * An answer that was stored before the ID reached identity.json (a crash in between) is an ID all the
 * same: enrolling a second time would only ask for it again.
 */
async function adopt(
  disk: Disk,
  log: Log,
  identity: Identity | null,
  bootstrap: Bootstrap | null,
): Promise<Identity | null> {
  if (identity === null || identity.binding !== null || bootstrap === null) return identity;
  const { server_id, portal, answer } = bootstrap;
  const { agent_id, cluster_id, node_name } = answer;
  const bound = { ...identity, binding: { agent_id, cluster_id, node_name, server_id, portal } };
  const saved = await saveIdentity(disk, bound);
  if (!saved.ok) log.write("error", "identity_not_stored", saved.error.message);
  return bound;
}

async function recoverState(
  disk: Disk,
  log: Log,
  found: Found<State>,
  bound: boolean,
  now: string,
): Promise<Result<{ state: State; saved: State | null }, DiskError>> {
  if (found.kind === "loaded") return ok({ state: found.value, saved: found.value });
  // Of a k3s that is held: which cluster it has to be is said there, and with the hold that would go.
  const kube_system_uid = await heldCluster({ disk });
  if (found.kind === "absent" && !bound) {
    return ok({ state: { ...EMPTY_STATE, kube_system_uid }, saved: null });
  }

  let message = "state.json is gone";
  if (found.kind === "unreadable") {
    message = `state.json ${found.reason}; it is kept aside as ${STATE_ASIDE_FILE}`;
    const aside = await disk.rename(STATE_FILE, STATE_ASIDE_FILE);
    if (!aside.ok && aside.error.code !== "missing") return aside;
  }
  log.write("error", "state_lost", message);
  const configured = await disk.stat(K3S_CONFIG_FILE);
  if (!configured.ok) return configured;
  const state: State = {
    ...EMPTY_STATE,
    kube_system_uid,
    conditions: bound ? raise([], "state_lost", message, now) : [],
    // What the node shows: k3s was configured, so it is not configured again. With which drop-ins it
    // runs is not known, so they count as changed.
    first_start: configured.value === null ? "configure" : "start",
    k3s_drop_ins: configured.value === null ? null : {},
  };
  return ok({ state, saved: null });
}
