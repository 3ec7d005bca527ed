import type { AddonPlan, PlannedApply } from "../cluster/addon_plan.ts";
import { type Difference, differences } from "../cluster/differs.ts";
import { lookAndPlan } from "../cluster/look_and_plan.ts";
import { renderAll } from "../cluster/render_all.ts";
import { sameSecret } from "../cluster/secrets.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { readHoldFile } from "../operations/restore/hold.ts";
import type { Disk, DiskError } from "../ports/disk.ts";
import type { K8s, ObjectRef } from "../ports/k8s.ts";
import type { SealingKey } from "../protocol/sealing.ts";
import type { ClusterSecrets } from "../protocol/secrets.ts";
import type { AddonReport } from "../protocol/sync.ts";
import { fail, ok, type Result } from "../result.ts";
import { mayWrite, otherCluster, whyNotAgent } from "../state/custody.ts";
import type { Found } from "../state/durable.ts";
import { loadIdentity } from "../state/identity.ts";
import { readOnlyDisk } from "../state/read_only_disk.ts";
import { loadState } from "../state/store.ts";
import { custodyBy, readClusterUid } from "./custody.ts";
import { openClusterSecrets } from "./cluster_secrets.ts";
import { type HostChange, planHostFiles } from "./host_files.ts";
import { sealingKeysOf } from "./identity_holder.ts";
import { readRelease } from "./releases.ts";

/** What the next cycle would change on the host and in the cluster. It holds no secret and no part of one. */
export interface PlanView {
  readonly revision: number;
  readonly release: string;
  /** With more than one server only the leader carries anything out. */
  readonly servers: number;
  /** Why nothing at all would be written, for people; null where the agent may act. */
  readonly withheld: string | null;
  /** The files of k3s's configuration; each server writes its own. */
  readonly host: readonly HostChange[];
  /** The cluster's own Secrets. */
  readonly secrets: readonly Change[];
  readonly addons: readonly {
    readonly name: string;
    readonly state: AddonReport["state"];
    readonly message?: string;
    readonly changes: readonly Change[];
  }[];
}

/** One write. */
export interface Change {
  readonly action: "apply" | "prune" | "remove";
  /** Such as `helmcharts/web`. */
  readonly object: string;
  readonly why: string;
  /** Field by field, where the object is there and not as wanted. */
  readonly differences: readonly {
    /** Such as `spec.version`. */
    readonly field: string;
    readonly live?: JsonValue;
    readonly wanted?: JsonValue;
  }[];
}

/**
 * Makes the plan of the next cycle from the agent's files and the cluster, beside a running agent too.
 * Nothing is written anywhere. The error is for people.
 */
export async function readPlan(
  realDisk: Disk,
  k8s: K8s,
  releaseKeys: readonly Uint8Array[],
): Promise<Result<PlanView, string>> {
  const disk = readOnlyDisk(realDisk);
  const identity = loaded("identity.json", await loadIdentity(disk));
  if (!identity.ok) return identity;
  const { binding } = identity.value;
  if (binding === null) return fail("this node is not enrolled yet");
  const state = loaded("state.json", await loadState(disk, binding.agent_id));
  if (!state.ok) return state;
  const desired = state.value.desired?.state;
  if (desired === undefined) return fail("no desired state was accepted yet");
  const release = await readRelease(disk, desired.release, releaseKeys);
  if (release === null) {
    return fail(
      `release.json does not hold release ${desired.release}, verified by a built-in key`,
    );
  }
  const shared = {
    revision: desired.revision,
    release: desired.release,
    servers: desired.servers,
  };
  const uid = await readClusterUid(k8s);
  if (!uid.ok) return fail(`the cluster could not be read: ${uid.error.message}`);
  const look = { seen: uid.value, hold: await readHoldFile({ disk }) };
  const custody = custodyBy(state.value, look);
  const keys = sealingKeysOf(identity.value);
  const host = otherCluster(custody) === null
    ? await planHostFiles(disk, state.value, desired.host, keys)
    : ok([]);
  if (!host.ok) return host;
  if (!mayWrite(custody)) {
    const withheld = whyNotAgent(custody) ?? NOT_PROVEN;
    const addons = desired.addons.map(({ name }) => ({
      name,
      state: "pending" as const,
      changes: [],
    }));
    return ok({ ...shared, withheld, host: host.value, secrets: [], addons });
  }
  const secrets = await planSecrets(k8s, desired.secrets, keys);
  if (!secrets.ok) return secrets;
  const place = { clusterId: binding.cluster_id, nodeName: binding.node_name };
  const rendered = renderAll(desired.addons, release, place, keys);
  const parts = { addons: desired.addons, release, rendered, again: false };
  const plans = await lookAndPlan(k8s, parts);
  if (!plans.ok) return plans;
  return ok({
    ...shared,
    withheld: null,
    host: host.value,
    secrets: secrets.value,
    addons: plans.value.map(viewOf),
  });
}

const NOT_PROVEN = "the first start has not shown yet which cluster is this node's";

async function planSecrets(
  k8s: K8s,
  secrets: ClusterSecrets,
  keys: readonly SealingKey[],
): Promise<Result<readonly Change[], string>> {
  const opened = openClusterSecrets(secrets, keys);
  if (!opened.ok) return opened;
  const changes: Change[] = [];
  for (const { ref, object } of opened.value) {
    const live = await k8s.get(ref);
    if (!live.ok) return fail(`${nameOf(ref)} could not be read: ${live.error.message}`);
    if (sameSecret(live.value, object)) continue;
    const why = live.value === null ? "missing" : "differs";
    changes.push(applyOf({ ref, object, why, live: live.value }));
  }
  return ok(changes);
}

function viewOf({ name, state, message, apply, prune, remove }: AddonPlan) {
  const gone =
    (action: "prune" | "remove", why: string) => ({ ref }: { readonly ref: ObjectRef }) => ({
      action,
      object: nameOf(ref),
      why,
      differences: [],
    });
  return {
    name,
    state,
    ...(message === undefined ? {} : { message }),
    changes: [
      ...apply.map(applyOf),
      ...prune.map(gone("prune", "the add-on's template no longer has it")),
      ...remove.map(gone("remove", "the add-on is switched off")),
    ],
  };
}

const WHY = {
  missing: "it is not there",
  differs: "it is not as the release wants it",
  again: "until the add-on is healthy it is applied in every cycle",
} as const;

function applyOf({ ref, object, why, live }: PlannedApply): Change {
  const found = live === null ? [] : differences(live, object);
  return {
    action: "apply",
    object: nameOf(ref),
    why: WHY[why],
    differences: found.map((one) => shown(one, ref.resource === "secrets")),
  };
}

/** Of a Secret's data no value is told, neither of the two. */
function shown({ path, live, wanted }: Difference, isSecret: boolean) {
  const hide = (value: JsonValue | undefined) =>
    isSecret && path[0] !== "metadata" && path[0] !== "type" ? hidden(value) : value;
  return {
    field: path.join("."),
    ...(live === undefined ? {} : { live: hide(live) ?? null }),
    ...(wanted === undefined ? {} : { wanted: hide(wanted) ?? null }),
  };
}

function hidden(value: JsonValue | undefined): JsonValue {
  if (!isJsonObject(value)) return "[secret]";
  return Object.fromEntries(Object.keys(value).map((key) => [key, "[secret]"])) as JsonObject;
}

function nameOf({ resource, name }: ObjectRef): string {
  return `${resource}/${name}`;
}

function loaded<T>(name: string, file: Result<Found<T>, DiskError>): Result<T, string> {
  if (!file.ok) return fail(file.error.message);
  switch (file.value.kind) {
    case "loaded":
      return ok(file.value.value);
    case "absent":
      return fail(`${name} is not there: this node has no agent that ran`);
    case "newer":
      return fail(`${name} was written by a newer version`);
    case "unreadable":
      return fail(`${name} ${file.value.reason}`);
  }
}
