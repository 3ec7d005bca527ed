import type { AddonSetting } from "../protocol/desired_state.ts";
import type { Release } from "../protocol/release.ts";
import { openSealed, type SealingKey } from "../protocol/sealing.ts";
import { fail, ok, type Result } from "../result.ts";
import type { Secret } from "../secret.ts";
import type { AllowedObject } from "./allowed_object.ts";
import { budgetOfAll, renderAddon } from "./render.ts";
import { templateOf } from "./requirements.ts";

/** The objects of each add-on that is on, by its name; or why there are none, for people. */
export type Rendered = ReadonlyMap<string, Result<readonly AllowedObject[], string>>;

/** Where add-ons are rendered for. */
export interface RenderPlace {
  readonly clusterId: string;
  readonly nodeName: string;
}

/** Renders every add-on that is on and that the release has; their secrets are opened with `keys`. */
export function renderAll(
  addons: readonly AddonSetting[],
  release: Release,
  place: RenderPlace,
  keys: readonly SealingKey[],
): Rendered {
  const world = { ...place, releasedAt: release.created_at };
  const rendered = new Map<string, Result<readonly AllowedObject[], string>>();
  const budget = budgetOfAll();
  for (const addon of addons) {
    const template = templateOf(addon.name, release.addons);
    if (!addon.enabled || template === null) continue;
    const secrets = openOptions(addon, keys);
    rendered.set(
      addon.name,
      secrets.ok ? renderAddon(addon, template, world, secrets.value, budget) : secrets,
    );
  }
  return rendered;
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
