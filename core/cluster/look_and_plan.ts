import type { K8s } from "../ports/k8s.ts";
import type { AddonSetting } from "../protocol/desired_state.ts";
import type { Release } from "../protocol/release.ts";
import { fail, ok, type Result } from "../result.ts";
import type { AddonPlan } from "./addon_plan.ts";
import { planAddons } from "./plan.ts";
import { readLive } from "./read_live.ts";
import type { Rendered } from "./render_all.ts";
import { templateOf } from "./requirements.ts";

/** What a plan is made from, outside of the cluster itself. */
export interface PlanParts {
  readonly addons: readonly AddonSetting[];
  readonly release: Release;
  readonly rendered: Rendered;
  /** Apply everything again, though nothing differs. */
  readonly again: boolean;
}

/** Looks at the cluster and decides; writes nothing. The error is for people. */
export async function lookAndPlan(
  k8s: K8s,
  { addons, release, rendered, again }: PlanParts,
): Promise<Result<readonly AddonPlan[], string>> {
  const live = await readLive(
    k8s,
    addons.map(({ name, enabled }) => ({
      name,
      enabled,
      template: templateOf(name, release.addons),
    })),
  );
  if (!live.ok) return fail(`the cluster could not be read: ${live.error.message}`);
  return ok(planAddons({
    addons,
    templates: release.addons,
    rendered,
    live: live.value,
    release: release.version,
    again,
  }));
}
