import type { AddonSetting } from "../protocol/desired_state.ts";
import type { Result } from "../result.ts";
import type { AddonPlan, PlannedApply } from "./addon_plan.ts";
import { ADDON_LABEL, type AllowedObject, REMOVAL_ANNOTATION } from "./allowed_object.ts";
import { differs } from "./differs.ts";
import { unhealthy } from "./health.ts";
import { at, isDeleting, type LiveObject, type LiveView, refKey } from "./live.ts";
import { MANAGED_KINDS } from "./managed_kinds.ts";
import { platformApiOf } from "./platform_api.ts";
import { planPlatformRemoval } from "./platform_removal.ts";
import {
  conflictsOf,
  cycleThrough,
  inDependencyOrder,
  requirementsOf,
  templateOf,
  type Templates,
} from "./requirements.ts";
import { addonSecretName } from "./secrets.ts";

/** What a plan is made from. The same input in any order gives the same plan. */
export interface PlanInput {
  readonly addons: readonly AddonSetting[];
  readonly templates: Templates;
  /** The objects of each add-on that is on, rendered; or why they could not be. */
  readonly rendered: ReadonlyMap<string, Result<readonly AllowedObject[], string>>;
  readonly live: LiveView;
  readonly release: string;
  /** Apply everything again, though nothing differs. */
  readonly again: boolean;
}

/**
 * Decides about every add-on of the desired state (operations.md, Add-ons: the table), in the order in
 * which they are carried out. Add-ons that the desired state does not name are left alone: only one that
 * is said to be off is removed.
 */
export function planAddons(input: PlanInput): readonly AddonPlan[] {
  const settings = new Map(input.addons.map((addon) => [addon.name, addon]));
  const plans = new Map<string, AddonPlan>();
  const isOn = (name: string) => settings.get(name)?.enabled === true;
  const ordered = inDependencyOrder([...settings.keys()], input.templates);
  // What goes makes room first, and what rests on another goes before that one.
  for (const name of ordered.filter((name) => !isOn(name)).reverse()) {
    plans.set(name, planOff({ input, settings, plans, name }));
  }
  for (const name of ordered.filter(isOn)) {
    plans.set(name, planOn({ input, settings, plans, name }));
  }
  return [...plans.values()];
}

/** One add-on among the others; `plans` has those before it. */
interface Scene {
  readonly input: PlanInput;
  readonly settings: ReadonlyMap<string, AddonSetting>;
  readonly plans: ReadonlyMap<string, AddonPlan>;
  readonly name: string;
}

function planOn(scene: Scene): AddonPlan {
  const { input, settings, plans, name } = scene;
  const template = templateOf(name, input.templates);
  if (template === null) return failed(name, `release ${input.release} has no such add-on`);
  const cycle = cycleThrough(name, input.templates);
  if (cycle !== null) return failed(name, `requires itself through ${cycle.join(" → ")}`);

  const required = requirementsOf(name, input.templates);
  const off = required.find((other) => settings.get(other)?.enabled !== true);
  if (off !== undefined) return failed(name, `requires add-on ${off}, which is off`);
  for (const other of conflictsOf(name, input.templates)) {
    const isOn = settings.get(other)?.enabled === true;
    const isThere = ownedBy(other, input.live).length > 0;
    if (isOn && (isThere || (plans.get(other)?.apply.length ?? 0) > 0)) {
      return failed(name, `conflicts with add-on ${other}; switch that off first`);
    }
    if (!isOn && isThere) {
      const how = settings.has(other) ? "" : "; nothing switches it off: it is not named";
      return pending(name, `waits until the objects of add-on ${other} are gone${how}`);
    }
    const unseen = unseenObjects(input.live);
    if (!isOn && unseen !== null) return pending(name, unseen);
  }
  const waited = required.find((other) => plans.get(other)?.state !== "applied");
  if (waited !== undefined) return pending(name, `waits for add-on ${waited}`);

  const rendered = input.rendered.get(name);
  if (rendered === undefined || !rendered.ok) {
    return failed(name, rendered?.error ?? "its template was not rendered");
  }
  return planApply(scene, rendered.value);
}

function planApply({ input, name }: Scene, objects: readonly AllowedObject[]): AddonPlan {
  const { live } = input;
  const taken = objects.find(({ ref }) => isOthers(name, live.managed.get(refKey(ref))));
  if (taken !== undefined) {
    return failed(name, `${taken.ref.resource}/${taken.ref.name} belongs to another add-on`);
  }
  const deleting = objects.find(({ ref }) => {
    const found = live.managed.get(refKey(ref));
    return found !== undefined && isDeleting(found.object);
  });
  if (deleting !== undefined) return pending(name, waitsForDeletion(deleting));

  const wanted = new Set(objects.map(({ ref }) => refKey(ref)));
  const unknown = objects.map(({ ref }) => live.unlisted.get(ref.resource))
    .find((why) => why !== undefined);
  const prune = ownedBy(name, live).filter(({ ref, object }) =>
    !wanted.has(refKey(ref)) && !isDeleting(object)
  );
  const checks = templateOf(name, input.templates)?.health ?? [];
  const waits = checks.map((check) => unhealthy(check, live)).find((why) => why !== null) ?? null;
  const known = objects.filter(({ ref }) => !live.unlisted.has(ref.resource));
  // While it is not healthy, everything is applied in every cycle (operations.md, the table).
  const all = input.again || waits !== null;
  const judged = known.map((object): PlannedApply => {
    const found = live.managed.get(refKey(object.ref))?.object ?? null;
    const why = found === null ? "missing" : differs(found, object.object) ? "differs" : "again";
    return { ...object, why, live: found };
  });
  const changed = judged.filter(({ why }) => why !== "again");
  const apply = all ? judged : changed;
  const after = requirementsOf(name, input.templates);
  if (unknown !== undefined) {
    // A chart may bring the kind of another of its add-on's objects: all that can be applied is.
    return { ...pending(name, unknown), after, apply };
  }
  if (waits !== null) return { ...pending(name, waits), after, apply, prune };
  if (changed.length > 0 && checks.length > 0) {
    const message = "was just changed; its health is looked at next";
    return { ...pending(name, message), after, apply, prune };
  }
  return { ...pending(name, ""), state: "applied", after, apply, prune };
}

function planOff(scene: Scene): AddonPlan {
  const { input, settings, name } = scene;
  const needed = [...settings.values()].filter((other) =>
    other.enabled && requirementsOf(other.name, input.templates).includes(name)
  ).map((other) => other.name).sort();
  if (needed.length > 0) return failed(name, `still required by ${needed.join(", ")}`);
  const template = templateOf(name, input.templates);
  // What could not be listed may exist: an add-on is removed once nothing of it is seen, not unseen.
  const unseen = unseenObjects(input.live);
  if (unseen !== null) return pending(name, unseen);
  const objects = ownedBy(name, input.live);
  if (objects.length === 0) return { ...pending(name, ""), state: "removed" };
  if (template?.removal === "platform") {
    if (platformApiOf(template) === null) return failed(name, "its template names no Platform");
    const first = planPlatformRemoval(name, objects, input.live);
    if (first !== null) return first;
  } else if (objects.some(isPlatforms)) {
    return failed(name, `release ${input.release} does not say how the Platform is removed`);
  }
  const going = objects.filter(({ object }) => !isDeleting(object));
  const stuck = objects.find(({ object }) => isDeleting(object));
  const message = stuck === undefined ? "is being removed" : waitsForDeletion(stuck);
  return { ...pending(name, message), remove: going };
}

/** Finalizers are never stripped: what they wait for is said, and somebody can look at it. */
function waitsForDeletion({ ref }: Pick<LiveObject, "ref">): string {
  return `${ref.resource}/${ref.name} is being deleted and waits for its finalizers`;
}

/** Why an add-on may have objects that are not seen; null where all that there are were listed. */
function unseenObjects({ unlisted }: LiveView): string | null {
  return MANAGED_KINDS.map(({ resource }) => unlisted.get(resource))
    .find((why) => why !== undefined) ?? null;
}

/** The add-on's Secret is its only one: a label that somebody set makes no other Secret its own. */
function ownedBy(addon: string, live: LiveView): readonly LiveObject[] {
  return [...live.managed.values()]
    .filter(({ object }) => ownerOf(object) === addon)
    .filter(({ ref }) => ref.resource !== "secrets" || ref.name === addonSecretName(addon))
    .sort((one, other) => refKey(one.ref) < refKey(other.ref) ? -1 : 1);
}

function isPlatforms({ object }: LiveObject): boolean {
  return at(object, "metadata", "annotations", REMOVAL_ANNOTATION) === "platform";
}

function isOthers(addon: string, found: LiveObject | undefined): boolean {
  const owner = found === undefined ? undefined : ownerOf(found.object);
  return owner !== undefined && owner !== addon;
}

function ownerOf(object: LiveObject["object"]) {
  return at(object, "metadata", "labels", ADDON_LABEL);
}

/** A plan that changes nothing: the add-on keeps the objects that it has. */
function failed(name: string, message: string): AddonPlan {
  return { ...pending(name, message), state: "failed" };
}

function pending(name: string, message: string): AddonPlan {
  const said = message === "" ? {} : { message };
  return { name, state: "pending", ...said, after: [], apply: [], prune: [], remove: [] };
}
