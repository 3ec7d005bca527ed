import type { Disk } from "../ports/disk.ts";
import type { K8s } from "../ports/k8s.ts";
import type { Log } from "../ports/log.ts";
import type { AddonReport } from "../protocol/sync.ts";
import { skipPath } from "../host/manifests.ts";
import { writeDocument } from "../state/durable.ts";
import { at } from "./live.ts";
import type { AddonPlan } from "./addon_plan.ts";
import { templateOf, type Templates } from "./requirements.ts";

/** What a plan is carried out with. */
export interface Hands {
  readonly k8s: K8s;
  readonly disk: Disk;
  readonly log: Log;
  readonly templates: Templates;
  /** Asked before every write: a node that no longer leads stops at once. */
  stillLeads(): boolean;
}

/**
 * Carries out the plan, add-on by add-on, and gives the state of each. What an add-on no longer has is
 * pruned only after the whole of it was applied; one that fails keeps what it has and holds up no other.
 */
export async function carryOut(
  hands: Hands,
  plans: readonly AddonPlan[],
): Promise<readonly AddonReport[]> {
  const reports: AddonReport[] = [];
  for (const plan of plans) {
    const fault = await carryOutOne(hands, plan);
    reports.push(
      fault === null ? reportOf(plan) : { name: plan.name, state: "failed", message: fault },
    );
  }
  return reports;
}

/** The report of a plan that was carried out. */
export function reportOf({ name, state, message }: AddonPlan): AddonReport {
  return { name, state, ...(message === undefined ? {} : { message }) };
}

/** What went wrong, for people; null where nothing did. */
async function carryOutOne(hands: Hands, plan: AddonPlan): Promise<string | null> {
  if (plan.apply.length > 0) {
    const taken = await takeOver(hands, plan.name);
    if (taken !== null) return taken;
  }
  for (const { ref, object, why } of plan.apply) {
    if (!hands.stillLeads()) return NO_LONGER;
    const applied = await hands.k8s.apply(ref, object);
    if (!applied.ok) return `${ref.resource}/${ref.name}: ${applied.error.message}`;
    if (why === "again") continue;
    const what = why === "missing" ? "was not there" : "was not as the release wants it";
    say(hands, plan.name, "applied", `${ref.resource}/${ref.name} is applied: it ${what}`);
  }
  for (const [gone, verb] of [[plan.prune, "pruned"], [plan.remove, "removed"]] as const) {
    for (const { ref, object } of gone) {
      if (!hands.stillLeads()) return NO_LONGER;
      const uid = at(object, "metadata", "uid");
      const removed = await hands.k8s.remove(ref, typeof uid === "string" ? { uid } : undefined);
      if (!removed.ok) return `${ref.resource}/${ref.name}: ${removed.error.message}`;
      say(hands, plan.name, verb, `${ref.resource}/${ref.name} is ${verb}`);
    }
  }
  return null;
}

const NO_LONGER = "this node leads no longer";

/**
 * Takes the add-on's first-start manifest from k3s: the file beside it makes k3s leave its objects alone,
 * before the API has them in another form (k3s fact E).
 */
async function takeOver(
  { disk, templates, log }: Hands,
  name: string,
): Promise<string | null> {
  const manifest = templateOf(name, templates)?.manifest;
  if (manifest === undefined) return null;
  const path = skipPath(manifest);
  const there = await disk.stat(path);
  if (!there.ok) return there.error.message;
  if (there.value !== null) return null;
  const written = await writeDocument(disk, path, new Uint8Array());
  if (!written.ok) return written.error.message;
  log.write("info", "manifest_taken_over", `${path} is written: the API manages this add-on now`);
  return null;
}

function say({ log }: Hands, addon: string, verb: string, message: string): void {
  log.write("info", `addon_${verb}`, `add-on ${addon}: ${message}`, { addon });
}
