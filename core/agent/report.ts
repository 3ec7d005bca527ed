import type { PendingRestart } from "../host/restart.ts";
import { CONDITION_CODES } from "../protocol/conditions.ts";
import type { AddonReport, SyncRequest } from "../protocol/sync.ts";
import type { Binding } from "../state/identity.ts";
import type { State } from "../state/state.ts";
import type { Observation } from "./observe.ts";
import type { ProgramInfo } from "./program_info.ts";
import { runningOperation } from "../state/journal.ts";

/** What a report is made of. */
export interface ReportParts {
  readonly program: ProgramInfo;
  readonly programSha256: string;
  readonly keysCreatedAt: string;
  readonly binding: Binding;
  readonly state: State;
  readonly observation: Observation;
  readonly leader: boolean;
  readonly pending: PendingRestart;
  readonly addons: readonly AddonReport[];
  /** Which powers are proven. */
  readonly trust: NonNullable<SyncRequest["node"]["trust"]>;
}

/** Longest text about the node or of a message, characters. */
const MAX_TEXT = 500;
/** What the add-ons may take of a report, bytes: the rest of it is bounded and fits beside them. */
const MAX_ADDONS_BYTES = 150_000;

/**
 * The body of `POST /sync` (protocol §4). It fits a request whatever the node and the desired state say:
 * a report that could not be sent would keep the agent from ever hearing of another desired state.
 */
export function buildReport(parts: ReportParts): SyncRequest {
  const { program, binding, state, observation, pending } = parts;
  const { host, booted } = observation;
  return {
    protocol: 1,
    agent: {
      version: program.version,
      sha256: parts.programSha256,
      arch: program.arch,
      started_at: program.startedAt,
      keys_created_at: parts.keysCreatedAt,
      ...rolledBack(state),
    },
    node: {
      name: binding.node_name,
      server_id: binding.server_id,
      boot_id: host.bootId,
      uptime_s: host.uptimeSeconds,
      os: host.os.slice(0, MAX_TEXT),
      kernel: host.kernel.slice(0, MAX_TEXT),
      boot_entry: booted.entry,
      boot_image_sha256: booted.sha256,
      k3s: { version: observation.k3sVersion, unit: observation.k3sUnit },
      api: observation.apiUp ? "up" : "down",
      ready: observation.nodeReady,
      leader: parts.leader,
      disk_free_bytes: host.diskFreeBytes,
      memory_available_bytes: host.memoryAvailableBytes,
      trust: parts.trust,
    },
    desired: {
      revision: state.desired?.state.revision ?? null,
      tag: state.desired?.tag ?? null,
    },
    pending: pending.pending
      ? { k3s_restart: true, reason: pending.reason.slice(0, MAX_TEXT) }
      : { k3s_restart: false },
    addons: fitting(parts.addons),
    conditions: state.conditions.slice(0, CONDITION_CODES.length)
      .map((one) => ({ ...one, message: one.message.slice(0, MAX_TEXT) })),
    operation: reportedOperation(state),
  };
}

function rolledBack({ update }: State): Pick<SyncRequest["agent"], "rolled_back"> {
  if (update.rolled_back === null) return {};
  return {
    rolled_back: { ...update.rolled_back, reason: update.rolled_back.reason.slice(0, MAX_TEXT) },
  };
}

/** The add-ons, as far as they fit: first their messages go, then the last of them. */
function fitting(addons: readonly AddonReport[]): AddonReport[] {
  // JSON takes up to six bytes for a unit of text, and less than 64 for all around it.
  const most = addons.reduce(
    (sum, { name, message = "" }) => sum + 64 + 6 * (name.length + message.length),
    0,
  );
  if (most <= MAX_ADDONS_BYTES) return [...addons];
  const size = (addon: AddonReport) => new TextEncoder().encode(JSON.stringify(addon)).length + 1;
  const whole = addons.reduce((sum, addon) => sum + size(addon), 0);
  if (whole <= MAX_ADDONS_BYTES) return [...addons];
  let room = MAX_ADDONS_BYTES;
  return addons.map(({ name, state }) => ({ name, state }))
    .filter((addon) => (room -= size(addon)) >= 0);
}

/** The operation that runs, and its step; null where only a report of one is left to send. */
function reportedOperation(state: State): SyncRequest["operation"] {
  const operation = runningOperation(state);
  if (operation === null) return null;
  const { id, kind, step } = operation;
  return { id, kind, step: step ?? "" };
}
