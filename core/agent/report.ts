import type { PendingRestart } from "../host/restart.ts";
import type { AddonReport, SyncRequest } from "../protocol/sync.ts";
import type { Binding } from "../state/identity.ts";
import type { State } from "../state/state.ts";
import type { Observation } from "./observe.ts";
import type { ProgramInfo } from "./program_info.ts";

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
}

/** The body of `POST /sync` (protocol §4). */
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
    },
    node: {
      name: binding.node_name,
      server_id: binding.server_id,
      boot_id: host.bootId,
      uptime_s: host.uptimeSeconds,
      os: host.os,
      kernel: host.kernel,
      boot_entry: booted.entry,
      boot_image_sha256: booted.sha256,
      k3s: { version: observation.k3sVersion, unit: observation.k3sUnit },
      api: observation.apiUp ? "up" : "down",
      ready: observation.nodeReady,
      leader: parts.leader,
      disk_free_bytes: host.diskFreeBytes,
      memory_available_bytes: host.memoryAvailableBytes,
    },
    desired: {
      revision: state.desired?.state.revision ?? null,
      tag: state.desired?.tag ?? null,
    },
    pending: pending.pending
      ? { k3s_restart: true, reason: pending.reason }
      : { k3s_restart: false },
    addons: [...parts.addons],
    conditions: [...state.conditions],
    operation: runningOperation(state),
  };
}

/** The operation that runs, and its step; null where only a report of one is left to send. */
function runningOperation({ operation }: State): SyncRequest["operation"] {
  if (operation === null || operation.result !== undefined) return null;
  const { id, kind, step } = operation;
  return { id, kind, step: step ?? "" };
}
