import type { Random } from "../../core/ports/random.ts";
import { drawPause } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import { type Catalogue, createCatalogue } from "../virtual/catalogue.ts";
import { goodChange, updateChange } from "../virtual/documents.ts";
import { operationOf } from "../virtual/offers.ts";
import type { PortalAdmin } from "./admin.ts";
import type { FleetOptions } from "./fleet.ts";
import { inTurn } from "./in_turn.ts";
import type { Ordered } from "./simulated_agent.ts";

/** Who orders a fleet's work from the fake portal, and the programs that updates of it fetch. */
export type Orders = Required<Pick<FleetOptions, "order" | "programs">>;

/**
 * Orders the profile's work by the admin API of the fake portal, or of several in turn; `failed` hears what
 * that refuses.
 */
export function createOrders(
  admins: readonly PortalAdmin[],
  { work }: Profile,
  failed: (cause: unknown) => void,
): Orders {
  const catalogue = createCatalogue();
  const released = new Map(admins.map((admin) => [admin, new Set<string>()]));

  async function update(admin: PortalAdmin, clusterId: string, version: string): Promise<void> {
    const { patch } = updateChange(version, catalogue);
    await release(admin, catalogue, String(patch["release"]), released.get(admin) ?? new Set());
    await admin.change(clusterId, patch);
  }

  function order({ index, name, watch, random, timeline }: Ordered): void {
    const { clusterId } = name;
    const admin = inTurn(admins, index);
    let count = 0;

    function again(perHour: number, act: () => Promise<void> | null): void {
      const pause = drawPause(perHour, random);
      timeline.after(pause, () => {
        act()?.catch(failed);
        again(perHour, act);
      });
    }

    for (const [kind, perHour] of Object.entries(work.operations)) {
      again(perHour, () => {
        const id = `sim-${kind.replace(".", "-")}-${clusterId.replace(/^sim-/, "")}-${++count}`;
        const operation = operationOf(kind, id, random, watch.snapshot());
        return operation === null ? null : admin.queue(clusterId, operation);
      });
    }
    again(work.changes, () => admin.change(clusterId, goodChange(random).patch));
    again(work.updates, () => update(admin, clusterId, versionOf(random, work.bad_updates)));
  }

  return { order, programs: catalogue.programs };
}

/** A version that other agents get, too: few releases serve many updates. */
function versionOf(random: Random, bad: number): string {
  const ending = random.fraction() < bad ? "-broken" : "";
  return `0.2.${Math.floor(random.fraction() * 5)}${ending}`;
}

/** Puts a release of the catalogue to the portal, once. */
async function release(
  admin: PortalAdmin,
  catalogue: Catalogue,
  version: string,
  released: Set<string>,
): Promise<void> {
  if (released.has(version)) return;
  released.add(version);
  const payload = catalogue.releases.get(version)?.payload;
  if (payload !== undefined) await admin.release(version, payload);
}
