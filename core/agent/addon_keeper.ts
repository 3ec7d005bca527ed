import { carryOut } from "../cluster/carry_out.ts";
import { lookAndPlan } from "../cluster/look_and_plan.ts";
import { renderAll, type Rendered } from "../cluster/render_all.ts";
import { printable } from "../printable.ts";
import type { Release } from "../protocol/release.ts";
import type { AddonReport } from "../protocol/sync.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, raiseCondition, timestamp } from "./context.ts";

/** Keeps the add-ons as the desired state says, and knows how they are. */
export interface AddonKeeper {
  /** Looks, plans and carries out; false where that did not go through to its end. */
  converge(context: BoundContext, turn: AddonTurn): Promise<boolean>;
  /** The state of each add-on of the desired state, as it was last seen. */
  reports(context: BoundContext): readonly AddonReport[];
  /** Another node keeps them, or there are none: what was seen here counts no more. */
  forget(context: BoundContext): Promise<void>;
}

/** One turn at the add-ons. */
export interface AddonTurn {
  /** The verified release of the desired state. */
  readonly release: Release;
  /** Apply everything again, though nothing differs. */
  readonly again: boolean;
  /** Asked before every write: a node that no longer leads stops at once. */
  stillLeads(): boolean;
}

/** What was seen, and of which desired state. */
interface Seen {
  readonly tag: string | null;
  readonly reports: ReadonlyMap<string, AddonReport>;
}

const NOTHING: Seen = { tag: null, reports: new Map() };

/** A keeper that has not looked yet. */
export function openAddonKeeper(): AddonKeeper {
  const render = renderOnceEach();
  let seen = NOTHING;
  /** Since when each add-on waits for trouble to pass. */
  let troubleSince: ReadonlyMap<string, string> = new Map();

  function show(
    context: BoundContext,
    tag: string | null,
    reports: readonly AddonReport[],
    troubled: ReadonlySet<string>,
  ): void {
    troubleSince = new Map(
      [...troubled].map((name) => [name, troubleSince.get(name) ?? timestamp(context)]),
    );
    const told = reports.map(shown).map((report): [string, AddonReport] => {
      const since = troubleSince.get(report.name);
      if (since === undefined) return [report.name, report];
      const message = `${report.message} (since ${since}; tried again in every cycle)`;
      return [report.name, { ...report, message }];
    });
    seen = { tag, reports: new Map(told) };
  }

  return {
    async converge(context, { release, again, stillLeads }) {
      const { desired } = context.store.state;
      if (desired === null) return true;
      const { addons } = desired.state;
      const rendered = render(context, addons, release);
      const { k8s, disk, log } = context.ports;
      const planned = await lookAndPlan(k8s, { addons, release, rendered, again });
      if (!planned.ok) {
        log.write("warn", "addons_not_applied", planned.error);
        const names = addons.map(({ name }) => name);
        const waits = names.map((name) =>
          ({ name, state: "pending", message: planned.error }) as const
        );
        show(context, desired.tag, waits, new Set(names));
        return false;
      }
      const troubled = new Set<string>();
      const hands = {
        k8s,
        disk,
        log,
        templates: release.addons,
        stillLeads,
        onTrouble: (name: string) => void troubled.add(name),
      };
      const reports = await carryOut(hands, planned.value);
      if (reports === null) {
        log.write("warn", "addons_not_applied", "this node stopped leading in the middle");
        return false;
      }
      show(context, desired.tag, reports, troubled);
      await judge(context, reports);
      return true;
    },
    reports({ store }) {
      const { desired } = store.state;
      const known = desired !== null && desired.tag === seen.tag;
      return (desired?.state.addons ?? []).map(({ name }) =>
        (known ? seen.reports.get(name) : undefined) ??
          { name, state: "pending", message: NOT_YET }
      );
    },
    async forget(context) {
      seen = NOTHING;
      troubleSince = new Map();
      await clearConditions(context, "addon_failed");
    },
  };
}

/** As the portal may show it: its message quotes the API and the objects. */
function shown({ message, ...report }: AddonReport): AddonReport {
  return { ...report, ...(message === undefined ? {} : { message: printable(message) }) };
}

const NOT_YET = "this desired state was not carried out yet";

/**
 * Renders anew only where the desired state, the release or the keys are others: to open the secrets
 * costs more than the rest of an idle cycle.
 */
function renderOnceEach() {
  let last: readonly unknown[] = [];
  let rendered: Rendered = new Map();
  return (
    { binding, identity }: BoundContext,
    addons: Parameters<typeof renderAll>[0],
    release: Release,
  ): Rendered => {
    const keys = identity.sealingKeys;
    const parts = [addons, release, keys];
    if (parts.some((part, index) => part !== last[index])) {
      const place = { clusterId: binding.cluster_id, nodeName: binding.node_name };
      rendered = renderAll(addons, release, place, keys);
      last = parts;
    }
    return rendered;
  };
}

async function judge(context: BoundContext, reports: readonly AddonReport[]): Promise<void> {
  const failed = reports.filter(({ state }) => state === "failed");
  if (failed.length === 0) return await clearConditions(context, "addon_failed");
  const message = failed.map(({ name, message }) => `${name}: ${message ?? "failed"}`).join("; ");
  await raiseCondition(context, "addon_failed", message);
}
