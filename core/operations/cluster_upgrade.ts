import { isJsonObject } from "../json.ts";
import { defineOperation } from "./definition.ts";
import { TIMEOUT_MS } from "./timeouts.ts";
import { commit } from "./upgrade/commit.ts";
import { fetchImage } from "./upgrade/fetch_image.ts";
import { healthGate } from "./upgrade/health_gate.ts";
import { UpgradeParams } from "./upgrade/params.ts";
import { preSnapshot } from "./upgrade/pre_snapshot.ts";
import { preflight } from "./upgrade/preflight.ts";
import { probeRestart, restart } from "./upgrade/restart.ts";
import { stageSlot } from "./upgrade/stage_slot.ts";

/**
 * Replaces the node's image by a release's. The old image stays the default until the new one has proven
 * itself, so that whatever restarts the node before that brings the old one back: the agent, the return's
 * timer, a panic, a watchdog, the power.
 */
export const clusterUpgrade = defineOperation({
  kind: "cluster.upgrade",
  params: UpgradeParams,
  needsApi: true,
  steps: {
    preflight: { timeoutMs: TIMEOUT_MS.upgradePreflight, run: preflight },
    pre_snapshot: { timeoutMs: TIMEOUT_MS.upgradeSnapshot, run: preSnapshot },
    fetch_image: { timeoutMs: TIMEOUT_MS.upgradeFetch, run: fetchImage },
    stage_slot: { timeoutMs: TIMEOUT_MS.upgradeStage, run: stageSlot },
    reboot: { timeoutMs: TIMEOUT_MS.upgradeReboot, run: restart, probe: probeRestart },
    health_gate: { timeoutMs: TIMEOUT_MS.upgradeGate, run: healthGate },
    commit: { timeoutMs: TIMEOUT_MS.upgradeCommit, run: commit },
  },
  output({ plan }) {
    const { from, to, boot_entry } = isJsonObject(plan) ? plan : {};
    return { from: from ?? null, to: to ?? null, boot_entry: boot_entry ?? null };
  },
});
