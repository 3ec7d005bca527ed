import type { Disk } from "../ports/disk.ts";
import type { K8s, K8sError } from "../ports/k8s.ts";
import type { Log } from "../ports/log.ts";
import type { AddonReport } from "../protocol/sync.ts";
import { fail, ok, type Result } from "../result.ts";
import type { AddonPlan } from "./addon_plan.ts";
import { withoutEmptied } from "./emptied.ts";
import { at, type LiveObject } from "./live.ts";
import { mayPassByNextLook } from "./may_pass.ts";
import type { Templates } from "./requirements.ts";
import { takeOverManifest } from "./take_over.ts";

/** What a plan is carried out with. */
export interface Hands {
  readonly k8s: K8s;
  readonly disk: Disk;
  readonly log: Log;
  readonly templates: Templates;
  /** Asked before every write: a node that no longer leads stops at once. */
  stillLeads(): boolean;
  /** Hears which add-ons stay as they are because of trouble that may pass. */
  onTrouble?(addon: string): void;
}

/** Why an add-on could not be carried out. `stop`: nothing further is to be tried in this turn. */
interface Fault {
  readonly stop: "leads_no_longer" | "unreachable" | null;
  /** It says nothing about the add-on and may be gone in the next cycle, which tries again. */
  readonly passes: boolean;
  readonly message: string;
}

/**
 * Carries out the plan, add-on by add-on, and gives the state of each; null where the node stopped leading
 * meanwhile, and what it saw is another's to say. What an add-on no longer has is pruned only after the
 * whole of it was applied; one that fails keeps what it has and holds up only what requires it. An add-on
 * fails only where the API refuses it: trouble that may pass makes it pending, and the next cycle tries again.
 */
export async function carryOut(
  hands: Hands,
  plans: readonly AddonPlan[],
): Promise<readonly AddonReport[] | null> {
  const reports = new Map<string, AddonReport>();
  let unreachable: string | null = null;
  for (const plan of plans) {
    const { name } = plan;
    const waitsFor = plan.after.find((other) => reports.get(other)?.state !== "applied");
    if (waitsFor !== undefined) {
      reports.set(name, { name, state: "pending", message: `waits for add-on ${waitsFor}` });
      continue;
    }
    if (unreachable !== null && hasWrites(plan)) {
      hands.onTrouble?.(name);
      reports.set(name, { name, state: "pending", message: unreachable });
      continue;
    }
    const done = await carryOutOne(hands, plan);
    if (!done.ok && done.error.stop === "leads_no_longer") return null;
    if (!done.ok && done.error.stop === "unreachable") unreachable = done.error.message;
    if (!done.ok && done.error.passes) hands.onTrouble?.(name);
    reports.set(
      name,
      done.ok
        ? reportOf(plan)
        : { name, state: done.error.passes ? "pending" : "failed", message: done.error.message },
    );
  }
  return [...reports.values()];
}

/** The report of a plan that was carried out. */
export function reportOf({ name, state, message }: AddonPlan): AddonReport {
  return { name, state, ...(message === undefined ? {} : { message }) };
}

function hasWrites({ apply, prune, remove }: AddonPlan): boolean {
  return apply.length + prune.length + remove.length > 0;
}

async function carryOutOne(hands: Hands, plan: AddonPlan): Promise<Result<void, Fault>> {
  const { k8s } = hands;
  // What is removed too, or k3s would bring it back at its next start.
  if (plan.apply.length + plan.remove.length > 0) {
    const taken = await takeOverManifest(hands.disk, hands.log, hands.templates, plan.name);
    // A disk that takes no file now says nothing about the add-on.
    if (!taken.ok) return fail({ stop: null, passes: true, message: taken.error.message });
  }
  for (const { ref, object, why, live } of plan.apply) {
    const before = live === null ? null : withoutEmptied(live, object);
    for (const step of before === null ? [object] : [before, object]) {
      if (!hands.stillLeads()) return NO_LONGER;
      const applied = await k8s.apply(ref, step);
      if (!applied.ok) return fail(faultOf(ref, applied.error));
    }
    if (why === "again") continue;
    const what = why === "missing" ? "was not there" : "was not as the release wants it";
    say(hands, plan.name, "applied", `${ref.resource}/${ref.name} is applied: it ${what}`);
  }
  for (const [gone, verb] of [[plan.prune, "pruned"], [plan.remove, "removed"]] as const) {
    for (const { ref, object } of gone) {
      if (!hands.stillLeads()) return NO_LONGER;
      const uid = at(object, "metadata", "uid");
      const removed = await k8s.remove(ref, typeof uid === "string" ? { uid } : undefined);
      if (!removed.ok) return fail(faultOf(ref, removed.error));
      say(hands, plan.name, verb, `${ref.resource}/${ref.name} is ${verb}`);
    }
  }
  return ok(undefined);
}

const NO_LONGER = fail<Fault>({
  stop: "leads_no_longer",
  passes: true,
  message: "this node no longer leads",
});

function faultOf({ resource, name }: LiveObject["ref"], error: K8sError): Fault {
  const { code, message } = error;
  return {
    stop: code === "unreachable" ? code : null,
    passes: mayPassByNextLook(error),
    message: `${resource}/${name}: ${message}`,
  };
}

function say({ log }: Hands, addon: string, verb: string, message: string): void {
  log.write("info", `addon_${verb}`, `add-on ${addon}: ${message}`, { addon });
}
