import { claimOfExtraKeys, type ClusterObject, sameSecret } from "../cluster/secrets.ts";
import { takeOverManifest } from "../cluster/take_over.ts";
import { type Custody, mayWrite, otherCluster } from "../state/custody.ts";
import type { DesiredState } from "../protocol/desired_state.ts";
import type { AddonReport } from "../protocol/sync.ts";
import { fail, ok, type Result } from "../result.ts";
import { type AddonKeeper, openAddonKeeper } from "./addon_keeper.ts";
import { openClusterSecrets } from "./cluster_secrets.ts";
import type { BoundContext } from "./context.ts";
import type { Releases } from "./releases.ts";

/** The cluster's configuration is applied again this often even without a change, milliseconds. */
const APPLY_AGAIN_MS = 600_000;

/** Keeps the cluster's objects at the desired state (operations.md, Cluster). */
export interface ClusterKeeper {
  /**
   * Secrets, then add-ons, where the cluster is proven and this node leads. Tells whether the agent must
   * end what it does, as the portal may say where the release has to be fetched.
   */
  converge(
    context: BoundContext,
    releases: Releases,
    turn: ClusterTurn,
  ): Promise<"done" | "stop" | "aborted">;
  /** The state of each add-on; none where another node keeps them and tells. */
  reports(context: BoundContext, leads: boolean): readonly AddonReport[];
}

/** What a turn at the cluster depends on. */
export interface ClusterTurn {
  /** Who may act, by what the API showed in this cycle. */
  readonly custody: Custody;
  /** Asked before every write: another node, or a restore, may have taken over. */
  leads(): boolean;
}

/** A keeper that has not applied anything yet. */
export function openClusterKeeper(): ClusterKeeper {
  const open = openOnceEach();
  const addons = openAddonKeeper();
  // Of a start nobody knows when all of it was applied last; what differs is applied at once anyway.
  let applyAgainAt: number | null = null;

  async function keepSecrets(context: BoundContext, { secrets }: DesiredState, turn: Turn) {
    if (!turn.leads()) return true;
    const opened = open(secrets, context.identity.sealingKeys);
    const applied = opened.ok
      ? await applySecrets(context, opened.value, turn.again, turn.leads)
      : opened;
    if (!applied.ok) context.ports.log.write("warn", "secrets_not_applied", applied.error);
    return applied.ok;
  }

  return {
    async converge(context, releases, { custody, leads }) {
      // What was seen of the add-ons was another cluster's, or is this one's no more.
      if (otherCluster(custody) !== null) await addons.forget(context);
      // Not even k3s's manifests are taken over for a cluster that is not proven.
      if (!mayWrite(custody)) return "done";
      const desired = context.store.state.desired?.state;
      // The first start writes the Secrets itself; the leader keeps them from then on.
      if (desired === undefined || context.store.state.first_start !== "done") return "done";
      const now = context.ports.clock.monotonic();
      applyAgainAt ??= now + APPLY_AGAIN_MS;
      const turn = { again: now >= applyAgainAt, leads };
      const secrets = await keepSecrets(context, desired, turn);
      const kept = await keepAddons(context, desired, { ...turn, releases, addons });
      if (kept === "stop" || kept === "aborted") return kept;
      if (turn.again && leads() && secrets && kept) applyAgainAt = now + APPLY_AGAIN_MS;
      return "done";
    },
    reports(context, leads) {
      const servers = context.store.state.desired?.state.servers ?? 1;
      return leads || servers === 1 ? addons.reports(context) : [];
    },
  };
}

/** One turn at the cluster. */
interface Turn {
  readonly again: boolean;
  leads(): boolean;
}

/** Whether all of it went through; or why the agent must end what it does. */
async function keepAddons(
  context: BoundContext,
  desired: DesiredState,
  { again, leads, releases, addons }: Turn & { releases: Releases; addons: AddonKeeper },
): Promise<boolean | "stop" | "aborted"> {
  const { disk, log } = context.ports;
  const isAnothers = desired.servers > 1 && !leads();
  if (desired.addons.length === 0 || isAnothers) await addons.forget(context);
  if (desired.addons.length === 0 || !(leads() || isAnothers)) return true;

  const release = await releases.get(context, desired.release);
  if (!release.ok) {
    const { code, message } = release.error;
    if (code === "stop" || code === "aborted") return code;
    log.write("warn", "addons_not_applied", `no add-on is looked at: ${message}`);
    return false;
  }
  if (!isAnothers) {
    return await addons.converge(context, { release: release.value, again, stillLeads: leads });
  }
  for (const { name } of desired.addons) {
    const taken = await takeOverManifest(disk, log, release.value.addons, name);
    if (!taken.ok) log.write("warn", "manifest_not_taken_over", taken.error.message);
  }
  return true;
}

/**
 * Opens secrets anew only where they or the keys are others: it is a quarter of what an idle cycle would
 * compute, and the same Secrets are read in clear from the API in every cycle anyway.
 */
function openOnceEach(): typeof openClusterSecrets {
  let last: Parameters<typeof openClusterSecrets> | null = null;
  let opened = openClusterSecrets({}, []);
  return (secrets, keys) => {
    if (last?.[0] !== secrets || last[1] !== keys) opened = openClusterSecrets(secrets, keys);
    last = [secrets, keys];
    return opened;
  };
}

/**
 * Applies the cluster's Secrets where they differ from what is wanted, or all of them where `always`.
 * They are never deleted.
 */
export async function applySecrets(
  context: BoundContext,
  secrets: readonly ClusterObject[],
  always: boolean,
  stillLeads = () => true,
): Promise<Result<void, string>> {
  const { k8s, log } = context.ports;
  for (const { ref, object } of secrets) {
    const name = `${ref.namespace}/${ref.name}`;
    const live = await k8s.get(ref);
    if (!live.ok) return fail(`Secret ${name} could not be read: ${live.error.message}`);
    const same = sameSecret(live.value, object);
    if (same && !always) continue;
    if (!stillLeads()) return fail("this node leads no longer");
    const claim = claimOfExtraKeys(live.value, object);
    const claimed = claim === null ? live : await k8s.apply(ref, claim);
    if (claim !== null && !stillLeads()) return fail("this node leads no longer");
    const applied = claimed.ok ? await k8s.apply(ref, object) : claimed;
    if (!applied.ok) return fail(`Secret ${name} could not be applied: ${applied.error.message}`);
    if (!same) {
      const why = live.value === null ? "it was not there" : "it was not as the portal wants it";
      log.write("info", "secret_applied", `Secret ${name} is applied: ${why}`);
    }
  }
  return ok(undefined);
}
