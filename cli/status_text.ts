import type { Status } from "../core/agent/status.ts";
import type { Slot, Slots } from "../core/host/slots.ts";
import { printable } from "../core/printable.ts";
import { CONDITION_TABLE } from "../core/protocol/condition_table.ts";
import { megabytes } from "../core/operations/restore/remove_old.ts";
import { whyNotAgent } from "../core/state/custody.ts";
import type { Stage } from "../core/state/state.ts";

/** Everything that `status` prints. */
export interface WholeStatus extends Status {
  readonly version: string;
  readonly running: boolean;
  readonly pid: number | null;
  readonly k3s_unit: string;
  /** What the boot loader has; null where it cannot be asked. */
  readonly slots: Slots | null;
}

/** What a stage means to somebody who operates the cluster. */
const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  unenrolled: "not enrolled; no keys made yet",
  enrolling: "enrolling at the portal",
  refused: "idle: the portal refused the enrollment",
  starting_k3s: "enrolled; k3s is being started for the first time",
  syncing: "enrolled and syncing",
  revoked: "idle: the portal revoked this identity; the cluster is left as it is",
  identity_unreadable: "idle: identity.json is unreadable or gone",
  other_server: "this disk was made for another server: see below",
};

/** The status for people. */
export function statusText(status: WholeStatus): string {
  const running = status.running
    ? `running${status.pid === null ? "" : ` (process ${status.pid})`}`
    : "not running";
  const rows: [string, string][] = [
    ["agent", `pbx-agent ${status.version}, ${running}`],
    ["state", STAGE_WORDS[status.stage]],
    ["node", `${status.node_name ?? "unknown"} of cluster ${status.cluster_id ?? "unknown"}`],
    ["portal", status.portal ?? "unknown"],
    ["agent ID", status.agent_id ?? "none yet"],
    ["server", server(status)],
    ["k3s", `${status.k3s_unit}${firstStart(status)}`],
    ["desired", desired(status)],
    [
      "restart",
      status.pending.k3s_restart ? `pending: ${status.pending.reason ?? ""}` : "none pending",
    ],
  ];
  rows.push(...registriesRows(status));
  rows.push(...updateRows(status), ...slotRows(status));
  rows.push(...custodyRows(status), ...operationRows(status), ...holdRows(status));
  rows.push(...asideRows(status));
  if (status.clock_offset_ms !== 0) {
    rows.push(["clock", `${status.clock_offset_ms / 1000} s behind the portal's`]);
  }
  rows.push(["trust", trust(status)]);
  if (status.trouble !== null) {
    rows.push(["trouble", `${status.trouble.message} (${status.trouble.code})`]);
    rows.push(["", `since ${status.trouble.since}`]);
  }
  for (const { code, message, since } of status.conditions) {
    rows.push(["condition", `${code} since ${since}`], ["", message]);
    rows.push(["", `way out: ${CONDITION_TABLE[code].wayOut}`]);
  }
  if (status.other_server !== null) rows.push(["problem", status.other_server]);
  for (const wrong of status.wrong_modes) rows.push(["mode", wrong]);
  for (const problem of status.problems) rows.push(["problem", problem]);
  // Some of it are words of the portal.
  return rows.map(([name, value]) => `${name.padEnd(10)} ${printable(value)}\n`).join("");
}

/** Where images come from; nothing where the desired state does not say. */
function registriesRows({ registries }: WholeStatus): [string, string][] {
  if (registries === null) return [];
  const { mirrors, credentials, file } = registries;
  const state = {
    own: "registries.yaml is written",
    absent: "registries.yaml is not written yet",
    foreign: "registries.yaml is not the agent's, so they do not apply",
  };
  return [
    ["registries", state[file]],
    ...Object.entries(mirrors).map(([host, endpoints]): [string, string] => [
      "",
      `${host} from ${endpoints.length === 0 ? "itself" : endpoints.join(", ")}`,
    ]),
    ...credentials.map((host): [string, string] => ["", `credentials for ${host}`]),
  ];
}

/** What there is to say of own updates; nothing where there is nothing. */
function updateRows({ update }: WholeStatus): [string, string][] {
  const rows: [string, string][] = [];
  const { under_way: now, rolled_back: back } = update;
  if (now !== null) {
    const until = now.deadline === null ? "" : `, must sync by ${now.deadline}`;
    rows.push(["update", `${now.from} to ${now.to}, step ${now.step} since ${now.since}${until}`]);
  }
  if (back !== null) {
    rows.push([
      "update",
      `taken back from ${back.from} to ${back.to} at ${back.at}: ${back.reason}`,
    ]);
  }
  for (const [version, { reason, message, again_at }] of Object.entries(update.holds)) {
    rows.push(["update", `${version} not before ${again_at} (${reason}): ${message}`]);
  }
  return rows;
}

/** Who acts on the cluster, where it is not the agent. */
function custodyRows({ custody }: WholeStatus): [string, string][] {
  if (custody.who === "agent") return [];
  const why = whyNotAgent(custody)?.trim() ?? "";
  return [["acts", custody.who === "nobody" ? `nobody: ${why}` : `the operation alone: ${why}`]];
}

/** The operation under way, or the one whose result is still to be delivered. */
function operationRows({ operation }: WholeStatus): [string, string][] {
  if (operation === null) return [];
  const { id, kind, state, step, step_since: since } = operation;
  const name = `${id} (${kind})`;
  if (state === "running") {
    const at = step === null ? "before its first step" : `step ${step} since ${since ?? "unknown"}`;
    return [["operation", `${name}: ${at}`]];
  }
  const at = state === "failed" && step !== null ? ` in step ${step}` : "";
  return [["operation", `${name}: ${state}${at}; the portal has not acknowledged it yet`]];
}

/** Why k3s does not start; nothing where it may. */
function holdRows({ k3s_hold: hold, operation }: WholeStatus): [string, string][] {
  if (hold === null) return [];
  // While its operation runs, that is as it should be.
  if (operation?.state === "running") return [["k3s held", hold]];
  return [
    ["k3s held", hold],
    ["", "do not start it by hand: `pbx-agent operations` says what happened and the ways out"],
  ];
}

/** What restores moved aside; nothing where none did. */
function asideRows({ moved_aside: aside }: WholeStatus): [string, string][] {
  if (aside === null) return [];
  return [
    [
      "old data",
      `${
        megabytes(aside.bytes)
      } that restores moved aside; remove it once it is not needed any more:`,
    ],
    ...aside.folders.map((folder): [string, string] => ["", folder]),
  ];
}

/** The images on the ESP, and what happens next; nothing on a machine without systemd-boot. */
function slotRows({ slots }: WholeStatus): [string, string][] {
  if (slots === null) return [];
  const name = (slot: Slot | null) =>
    slot === null ? "unknown" : `${slot.entry}${slot.release === null ? "" : ` (${slot.release})`}`;
  const pinned = slots.default === null
    ? "none is the default"
    : slots.default.entry === slots.booted?.entry
    ? "the default"
    : `the default is ${name(slots.default)}`;
  const rows: [string, string][] = [["image", `${name(slots.booted)}, ${pinned}`]];
  for (const slot of slots.others) rows.push(["", `beside it ${name(slot)}`]);
  rows.push(["", slots.next]);
  return rows;
}

function server({ server_id: madeFor, runs_on: runsOn }: WholeStatus): string {
  if (madeFor === null) return "not enrolled yet";
  if (runsOn === null) return `made for ${madeFor}; which one this is is not known now`;
  return runsOn === madeFor ? madeFor : `made for ${madeFor}, runs on ${runsOn}`;
}

function firstStart({ first_start }: WholeStatus): string {
  return first_start === "done" ? "" : `; first start at step ${first_start}`;
}

function desired({ desired }: WholeStatus): string {
  if (desired === null) return "none accepted yet";
  return `revision ${desired.revision} of release ${desired.release}, agent ${desired.agent_version}`;
}

/** Which powers have to be proven on this node. */
function trust({ trust: { boxes, answers, approvals } }: WholeStatus): string {
  return `bound boxes ${boxes}, signed answers ${answers}, approvals ${approvals}`;
}
