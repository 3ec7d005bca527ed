import * as z from "zod";
import type { Disk, DiskError } from "../../ports/disk.ts";
import { Rfc3339 } from "../../protocol/identifiers.ts";
import type { Result } from "../../result.ts";
import type { Found } from "../../state/durable.ts";
import { FORMAT } from "../../state/json_document.ts";
import { readOwned, writeOwned } from "../../state/owner.ts";
import { parentOf, UPGRADE_FILE } from "../../state/paths.ts";

/**
 * The form of upgrade.json: what the node shows of an upgrade's reboot, apart from the journal. It is on
 * disk before the new image can be started for the first time.
 */
export const UpgradeDocument = z.object({
  format: z.literal(FORMAT),
  /** The operation's ID. */
  operation: z.string(),
  from_entry: z.string(),
  to_entry: z.string(),
  /** The boot that the reboot was asked for in. */
  boot_id: z.string(),
  /** How long that boot had lasted by then, seconds; null where the kernel did not tell. */
  uptime_s: z.number().nullable(),
  /** The boot of the new image that the health gate runs in: the only one. */
  gate_boot: z.string().optional(),
  /** What the uptime was at the reboot: 0, but where a container shows its host's, which goes on. Seconds. */
  gate_base_s: z.number().optional(),
  /** The gate was not passed: why, found when, and in which boot. */
  verdict: z.object({ why: z.string(), boot_id: z.string(), at: Rfc3339 }).optional(),
  /** How it ended in the image before: found there first, because the return's mark tells it and then goes. */
  back: z.object({ code: z.enum(["gate_failed", "fell_back"]), why: z.string() }).optional(),
});
/** What upgrade.json holds. */
export type UpgradeRecord = Omit<z.infer<typeof UpgradeDocument>, "format">;

/** Reads upgrade.json. */
export function readUpgrade(disk: Disk): Promise<Result<Found<UpgradeRecord>, DiskError>> {
  return readOwned(disk, UPGRADE_FILE, UpgradeDocument);
}

/** The record of this operation; null where there is none that can be read. */
export async function upgradeOf(disk: Disk, operation: string): Promise<UpgradeRecord | null> {
  const found = await readUpgrade(disk);
  if (!found.ok || found.value.kind !== "loaded") return null;
  return found.value.value.operation === operation ? found.value.value : null;
}

/** Writes upgrade.json, durably. */
export function writeUpgrade(disk: Disk, record: UpgradeRecord): Promise<Result<void, DiskError>> {
  return writeOwned(disk, UPGRADE_FILE, { format: FORMAT, ...record });
}

/** Removes upgrade.json, durably. */
export async function removeUpgrade(disk: Disk): Promise<Result<void, DiskError>> {
  for (const path of [`${UPGRADE_FILE}.tmp`, UPGRADE_FILE]) {
    const removed = await disk.remove(path);
    if (!removed.ok) return removed;
  }
  return await disk.syncDirectory(parentOf(UPGRADE_FILE));
}
