import { activeAgent } from "../../adapters/portal/state.ts";
import { tagOf } from "../../adapters/portal/sync.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { REGISTRIES_PATH } from "../../core/host/registries.ts";
import { KEPT_TOKEN_FILE } from "../../core/operations/restore/tokens.ts";
import {
  K3S_HOLD_FILE,
  RELEASE_FILE,
  STATE_DIRECTORY,
  UPDATE_FILE,
} from "../../core/state/paths.ts";
import type { SimulatedNode } from "../node/node.ts";
import type { ClusterPortal } from "./cluster_portal.ts";
import type { Owner } from "./owner.ts";
import { storedRevision } from "./stored_state.ts";
import { secretIn } from "./watched.ts";

/** What is not yet as it is wanted; nothing where the node has converged. */
export function notConverged(
  node: SimulatedNode,
  { portal, cluster }: ClusterPortal,
  owner: Owner,
): readonly string[] {
  const { clusterId, nodeName } = node.name;
  const agent = activeAgent(portal.state, clusterId, nodeName);
  if (agent === null) return ["it has not enrolled"];
  if (!isJsonObject(agent.report)) return ["it has not synced"];
  const report = agent.report as unknown as Report;
  const wanted = owner.wanted();
  const open = portal.state.operations.filter(({ result }) => result === null).map(({ id }) => id);
  const lacks: (string | false)[] = [
    report.desired.tag !== tagOf(portal, cluster.desired) &&
    `it reports revision ${report.desired.revision}, wanted is ${wanted["revision"]}`,
    storedRevision(node) !== wanted["revision"] &&
    `state.json has revision ${storedRevision(node)}`,
    report.agent.version !== versionOf(wanted) && `its version is ${report.agent.version}`,
    report.conditions.length > 0 &&
    `its conditions are ${report.conditions.map(({ code }) => code).join(", ")}`,
    report.pending.k3s_restart && "a restart of k3s is pending",
    report.node.api !== "up" && "its API is down",
    report.node.ready !== true && "its Node is not ready",
    report.operation !== null && `operation ${report.operation?.id} runs`,
    open.length > 0 && `operations ${open.join(", ")} have no result`,
    agent.previous !== null && !hasFailedRotation(portal) && "a rotation of its keys is not over",
    ...addonsLack(report.addons, wanted),
    ...machineLacks(node, wanted),
  ];
  return lacks.filter((lack) => lack !== false);
}

/** One that failed on the way leaves both pairs, which the next one goes on with. */
function hasFailedRotation({ state }: ClusterPortal["portal"]): boolean {
  const last = state.operations.findLast(({ offer, result }) =>
    isJsonObject(offer) && offer["kind"] === "agent.rotate_key" &&
    (result?.state === "failed" || result?.state === "succeeded")
  );
  return last?.result?.state === "failed";
}

/** What a converged machine must not hold. */
export function leftBehind(node: SimulatedNode, owner: Owner): readonly string[] {
  const { disk } = node;
  const found: string[] = [];
  for (const path of disk.paths()) {
    if (!path.startsWith(`${STATE_DIRECTORY}/`)) continue;
    // What a rename left that the disk did not do: the next start takes it away.
    if (path === `${RELEASE_FILE}.tmp`) continue;
    // k3s's own token file, as it was before a restore: beside the original, as readable as that.
    if (path === KEPT_TOKEN_FILE) continue;
    if (path.endsWith(".tmp")) found.push(`${path} is left behind`);
    const leak = secretIn(disk.text(path) ?? "", owner.secrets);
    if (leak !== null) found.push(`${path} holds ${leak} in clear`);
  }
  return found;
}

interface Report {
  readonly agent: { readonly version: string };
  readonly desired: { readonly revision: number | null; readonly tag: string | null };
  readonly conditions: readonly { readonly code: string }[];
  readonly pending: { readonly k3s_restart: boolean };
  readonly node: { readonly api: string; readonly ready: boolean | null };
  readonly operation: { readonly id: string } | null;
  readonly addons: readonly { readonly name: string; readonly state: string }[];
}

function versionOf(document: JsonObject): JsonValue | undefined {
  return (document["agent"] as JsonObject)["version"];
}

function addonsLack(addons: Report["addons"], wanted: JsonObject): (string | false)[] {
  const settings = wanted["addons"] as readonly { name: string; enabled: boolean }[];
  return settings.map(({ name, enabled }) => {
    const state = addons.find((addon) => addon.name === name)?.state;
    return state !== (enabled ? "applied" : "removed") && `add-on ${name} is ${state ?? "unknown"}`;
  });
}

function machineLacks({ disk, cluster }: SimulatedNode, wanted: JsonObject): (string | false)[] {
  const host = wanted["host"] as { snapshots: { schedule: string }; ingress: string };
  const dropIn = (name: string) => disk.text(`/etc/rancher/k3s/config.yaml.d/50-pbx-${name}.yaml`);
  const secret = cluster.api.read("/api/v1/namespaces/kube-system/secrets/hcloud")?.["data"];
  const token = ((wanted["secrets"] as JsonObject)["hcloud"] as JsonObject)["token"] as JsonObject;
  const applied = isJsonObject(secret ?? null) ? (secret as JsonObject)["token"] : undefined;
  return [
    cluster.unit() !== "active" && "k3s does not run",
    disk.text(K3S_HOLD_FILE) !== null && "k3s is held",
    disk.text(UPDATE_FILE) !== null && "an update is open",
    !(dropIn("snapshots") ?? "").includes(host.snapshots.schedule) &&
    "the snapshots' drop-in is old",
    (dropIn("ingress") ?? "").includes("traefik") !== (host.ingress === "none") &&
    "the ingress's drop-in is old",
    registriesLack(disk.text(REGISTRIES_PATH), wanted["host"] as JsonObject),
    applied !== btoa(String(token["plain"])) && "the cloud's token is old",
  ];
}

/** `file`: registries.yaml. Of what is in it only the password changes. */
function registriesLack(file: string | null, { registries }: JsonObject): string | false {
  if (!isJsonObject(registries ?? null)) return file !== null && "registries.yaml is still there";
  const { plain } =
    (((registries as JsonObject)["configs"] as JsonObject)["mirror.example.com"] as {
      readonly password: JsonObject;
    }).password;
  return !(file ?? "").includes(`"${String(plain)}"`) && "registries.yaml is old";
}
