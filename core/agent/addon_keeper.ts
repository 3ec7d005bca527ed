import type { AllowedObject } from "../cluster/allowed_object.ts";
import { carryOut } from "../cluster/carry_out.ts";
import type { AddonPlan } from "../cluster/addon_plan.ts";
import { planAddons } from "../cluster/plan.ts";
import { readLive } from "../cluster/read_live.ts";
import { renderAddon } from "../cluster/render.ts";
import { templateOf } from "../cluster/requirements.ts";
import type { AddonSetting, DesiredState } from "../protocol/desired_state.ts";
import type { Release } from "../protocol/release.ts";
import type { SealingKey } from "../protocol/sealing.ts";
import { openSealed } from "../protocol/sealing.ts";
import type { AddonReport } from "../protocol/sync.ts";
import type { K8s } from "../ports/k8s.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { Binding } from "../state/identity.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition } from "./context.ts";

/** Keeps the add-ons as the desired state says, and knows how they are. */
export interface AddonKeeper {
  /** Looks, plans and carries out. `stillLeads` is asked before every write. */
  converge(context: BoundContext, turn: AddonTurn): Promise<void>;
  /** The state of each add-on as it was last seen. */
  reports(context: BoundContext): readonly AddonReport[];
}

/** One turn at the add-ons. */
export interface AddonTurn {
  /** The verified release of the desired state; null where it is not at hand. */
  readonly release: Release | null;
  /** Apply everything again, though nothing differs. */
  readonly again: boolean;
  stillLeads(): boolean;
}

/** A keeper that has not looked yet. */
export function openAddonKeeper(): AddonKeeper {
  let last = new Map<string, AddonReport>();
  return {
    async converge(context, { release, again, stillLeads }) {
      const desired = context.store.state.desired?.state;
      if (desired === undefined) return;
      const seen = await turn(context, desired, release, again, stillLeads);
      if (seen.ok) last = new Map(seen.value.map((report) => [report.name, report]));
      else context.ports.log.write("warn", "addons_not_applied", seen.error);
      await judge(context, [...last.values()]);
    },
    reports({ store }) {
      const addons = store.state.desired?.state.addons ?? [];
      return addons.map(({ name }) =>
        last.get(name) ?? { name, state: "pending", message: NOT_LOOKED }
      );
    },
  };
}

const NOT_LOOKED = "not looked at yet since the agent's start";

async function turn(
  context: BoundContext,
  desired: DesiredState,
  release: Release | null,
  again: boolean,
  stillLeads: () => boolean,
): Promise<Result<readonly AddonReport[], string>> {
  if (desired.addons.length === 0) return ok([]);
  if (release === null) return fail("the manifest of the release is not at hand");
  const { k8s, disk, log } = context.ports;
  const planned = await makePlan({
    k8s,
    desired,
    release,
    again,
    binding: context.binding,
    keys: context.identity.sealingKeys,
  });
  if (!planned.ok) return planned;
  const hands = { k8s, disk, log, templates: release.addons, stillLeads };
  return ok(await carryOut(hands, planned.value));
}

/** What a plan is made from, outside of the cluster itself. */
export interface PlanParts {
  readonly k8s: K8s;
  readonly desired: DesiredState;
  readonly release: Release;
  readonly again: boolean;
  readonly binding: Binding;
  readonly keys: readonly SealingKey[];
}

/** Renders, looks at the cluster, and decides. Writes nothing. */
export async function makePlan(parts: PlanParts): Promise<Result<readonly AddonPlan[], string>> {
  const { k8s, desired, release, again, binding, keys } = parts;
  const rendered = new Map<string, Result<readonly AllowedObject[], string>>();
  for (const addon of desired.addons) {
    const template = templateOf(addon.name, release.addons);
    if (!addon.enabled || template === null) continue;
    const secrets = openOptions(addon, keys);
    const world = {
      clusterId: binding.cluster_id,
      nodeName: binding.node_name,
      releasedAt: release.created_at,
    };
    rendered.set(
      addon.name,
      secrets.ok ? renderAddon(addon, template, world, secrets.value) : secrets,
    );
  }
  const live = await readLive(
    k8s,
    desired.addons.map(({ name, enabled }) => ({
      enabled,
      template: templateOf(name, release.addons),
    })),
  );
  if (!live.ok) return fail(`the cluster could not be read: ${live.error.message}`);
  return ok(planAddons({
    addons: desired.addons,
    templates: release.addons,
    rendered,
    live: live.value,
    release: release.version,
    again,
  }));
}

/** Opened for this one rendering; they reach nothing but the add-on's own Secret. */
function openOptions(
  { secret_options = {} }: AddonSetting,
  keys: readonly SealingKey[],
): Result<ReadonlyMap<string, Secret>, string> {
  const secrets = new Map<string, Secret>();
  for (const [name, { sealed }] of Object.entries(secret_options)) {
    const opened = openSealed(sealed, keys);
    if (!opened.ok) return fail(`secret option ${name}: ${opened.error.message}`);
    secrets.set(name, opened.value);
  }
  return ok(secrets);
}

async function judge(context: BoundContext, reports: readonly AddonReport[]): Promise<void> {
  const failed = reports.filter(({ state }) => state === "failed");
  if (failed.length === 0) return await clearConditions(context, "addon_failed");
  const message = failed.map(({ name, message }) => `${name}: ${message ?? "failed"}`).join("; ");
  await raiseCondition(context, "addon_failed", message);
}
