import { apiIsUp } from "../api_is_up.ts";
import type { StepEnd, StepTools } from "../definition.ts";
import { confirmSnapshot } from "../snapshots/confirm_snapshot.ts";
import { nodeNames } from "../snapshots/find_snapshots.ts";
import { takeSnapshot } from "../snapshots/take_snapshot.ts";
import type { UpgradeParams } from "./params.ts";

/** The name of the snapshot before an upgrade: `+`, which no name of a snapshot has, becomes a dash. */
export function preUpgradeSnapshot(release: string): string {
  return `pbx-pre-upgrade-${release.replaceAll("+", "-")}`;
}

/** Takes the snapshot that a person can go back to, and proves that it is where it should be. */
export async function preSnapshot(tools: StepTools<UpgradeParams>): Promise<StepEnd> {
  const { params, ports, node, begunAt } = tools;
  const of = {
    name: preUpgradeSnapshot(params.release),
    nodes: await nodeNames(ports, node),
    notBefore: Math.floor(begunAt / 1000),
  };
  // k3s is asked for one; where it does not answer, it says why itself.
  await apiIsUp(tools);
  const taken = await takeSnapshot(tools, of);
  if (taken.kind === "failed") return taken;
  const confirmed = await confirmSnapshot(tools, of);
  if (confirmed.kind === "failed") return confirmed;
  return { ...confirmed, handed: { snapshot: confirmed.handed?.["file"] ?? null } };
}
