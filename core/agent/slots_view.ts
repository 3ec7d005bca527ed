import { type Slots, slotsOf, type UpgradeUnderWay } from "../host/slots.ts";
import { isJsonObject } from "../json.ts";
import type { Boot } from "../ports/boot.ts";
import type { Disk } from "../ports/disk.ts";
import { readOnlyDisk } from "../state/read_only_disk.ts";
import type { State } from "../state/state.ts";
import { ownerOf } from "../state/owner.ts";
import { loadState } from "../state/store.ts";

/**
 * The boot loader's slots, for `status`; null on a machine whose loader cannot be asked. Which release an
 * image is of is what upgrades noted.
 */
export async function readSlots(disk: Disk, boot: Boot): Promise<Slots | null> {
  const view = await boot.look();
  if (!view.ok) return null;
  const booted = await boot.booted();
  const file = await loadState(readOnlyDisk(disk), await ownerOf(disk));
  const state = file.ok && file.value.kind === "loaded" ? file.value.value : null;
  return slotsOf(view.value, booted, releasesOf(state), underWay(state));
}

/** Names of releases by the entries of their images. */
function releasesOf(state: State | null): ReadonlyMap<string, string> {
  const releases = new Map<string, string>();
  const note = (entry: unknown, release: unknown) => {
    if (typeof entry === "string" && typeof release === "string") releases.set(entry, release);
  };
  for (const { kind, result } of Object.values(state?.finished ?? {})) {
    if (kind === "cluster.upgrade") note(result.output?.["boot_entry"], result.output?.["to"]);
  }
  const plan = state?.operation?.handed["plan"];
  if (isJsonObject(plan)) {
    note(plan["from_entry"], plan["from"]);
    note(plan["boot_entry"], plan["to"]);
  }
  return releases;
}

function underWay(state: State | null): UpgradeUnderWay | null {
  const operation = state?.operation ?? null;
  const plan = operation?.handed["plan"];
  if (operation?.kind !== "cluster.upgrade" || operation.result !== undefined) return null;
  if (!isJsonObject(plan) || operation.step === null) return null;
  return { to: String(plan["to"]), entry: String(plan["boot_entry"]), step: operation.step };
}
