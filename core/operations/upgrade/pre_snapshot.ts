import { apiIsUp } from "../api_is_up.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { confirmSnapshot } from "../snapshots/confirm_snapshot.ts";
import { ownSnapshots } from "../snapshots/own_snapshots.ts";
import { takeSnapshot } from "../snapshots/take_snapshot.ts";
import type { UpgradeParams } from "./params.ts";

/** The name of the snapshot before an upgrade: `+`, which no name of a snapshot has, becomes a dash. */
export function preUpgradeSnapshot(release: string): string {
  return `pbx-pre-upgrade-${release.replaceAll("+", "-")}`;
}

/**
 * Takes the snapshot that a person can go back to, and proves that it is where it should be. One that an
 * earlier try of this upgrade took does not count: much may have changed since.
 */
export async function preSnapshot(tools: StepTools<UpgradeParams>): Promise<StepEnd> {
  // k3s is asked for one; where it does not answer, it says why itself.
  await apiIsUp(tools);
  const own = await ownSnapshots(tools, preUpgradeSnapshot(tools.params.release));
  if (!own.ok) return { kind: "failed", code: "not_saved", message: own.error };
  const taken = await takeSnapshot(tools, own.value);
  if (taken.kind === "failed") return taken;
  const confirmed = await confirmSnapshot(tools, own.value);
  if (confirmed.kind === "failed") return confirmed;
  return { ...confirmed, handed: { snapshot: confirmed.handed?.["file"] ?? null } };
}
