import { claimOfExtraKeys, type ClusterObject, sameSecret } from "../cluster/secrets.ts";
import type { AddonReport } from "../protocol/sync.ts";
import { fail, ok, type Result } from "../result.ts";
import { openClusterSecrets } from "./cluster_secrets.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";

/** The cluster's configuration is applied again this often even without a change, milliseconds. */
const APPLY_AGAIN_MS = 600_000;

/** Keeps the cluster's objects at the desired state (operations.md, Converging: Cluster). */
export interface ClusterKeeper {
  converge(context: BoundContext, leader: boolean): Promise<void>;
}

/** A keeper that has not applied anything yet. */
export function openClusterKeeper(): ClusterKeeper {
  const open = openOnceEach();
  let applyAgainAt = Number.NEGATIVE_INFINITY;
  return {
    async converge(context, leader) {
      const desired = context.store.state.desired?.state;
      await judgeAddons(context);
      // The first start writes the Secrets itself; the leader keeps them from then on.
      if (!leader || desired === undefined || context.store.state.first_start !== "done") return;
      const now = context.ports.clock.monotonic();
      const again = now >= applyAgainAt;
      const opened = open(desired.secrets, context.identity.sealingKeys);
      const applied = opened.ok ? await applySecrets(context, opened.value, again) : opened;
      if (!applied.ok) context.ports.log.write("warn", "secrets_not_applied", applied.error);
      else if (again) applyAgainAt = now + APPLY_AGAIN_MS;
    },
  };
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
): Promise<Result<void, string>> {
  const { k8s, log } = context.ports;
  for (const { ref, object } of secrets) {
    const name = `${ref.namespace}/${ref.name}`;
    const live = await k8s.get(ref);
    if (!live.ok) return fail(`Secret ${name} could not be read: ${live.error.message}`);
    const same = sameSecret(live.value, object);
    if (same && !always) continue;
    const claim = claimOfExtraKeys(live.value, object);
    const claimed = claim === null ? live : await k8s.apply(ref, claim);
    const applied = claimed.ok ? await k8s.apply(ref, object) : claimed;
    if (!applied.ok) return fail(`Secret ${name} could not be applied: ${applied.error.message}`);
    if (!same) {
      const why = live.value === null ? "it was not there" : "it was not as the portal wants it";
      log.write("info", "secret_applied", `Secret ${name} is applied: ${why}`);
    }
  }
  return ok(undefined);
}

/** What is said of every add-on until they are built. */
const NOT_IMPLEMENTED = "not implemented: this version of the agent applies no add-ons";

/** The state of each add-on that the desired state switches on. */
export function addonReports({ store }: BoundContext): readonly AddonReport[] {
  const addons = store.state.desired?.state.addons ?? [];
  return addons.filter((addon) => addon.enabled)
    .map(({ name }) => ({ name, state: "failed", message: NOT_IMPLEMENTED }));
}

async function judgeAddons(context: BoundContext): Promise<void> {
  const failed = addonReports(context).map((addon) => addon.name);
  if (failed.length === 0) await clearConditions(context, "addon_failed");
  else await raiseCondition(context, "addon_failed", `${failed.join(", ")}: ${NOT_IMPLEMENTED}`);
}
