import type { UpgradeRecord } from "./record.ts";

/** What the node shows while an upgrade's health gate is open. */
export interface GateFacts {
  readonly fromEntry: string;
  readonly toEntry: string;
  /** The entry that booted; null where it is not known for sure. */
  readonly booted: string | null;
  readonly bootId: string | null;
  /** Milliseconds since the reboot. */
  readonly elapsedMs: number;
  /** How long the gate is open after the boot, milliseconds. */
  readonly gateMs: number;
  readonly record: UpgradeRecord | null;
  /** The agent has ordered the reboot back into the old entry, in this boot or in one before. */
  readonly backOrdered: boolean;
  /** The return's timer came: its mark is gone. Like an order of the agent it counts as the one return. */
  readonly timerCame: boolean;
  /** What is not healthy yet, for people; asked for in the new image only. */
  readonly findings: readonly string[];
  /** For how long there was nothing of that, milliseconds. */
  readonly healthyForMs: number;
}

/** How long the new image must be healthy before it is believed, milliseconds. */
export const STEADY_MS = 20_000;

/**
 * How long after the gate's end a node that was told to return is waited for, milliseconds: services may
 * stop slowly, and where the order was lost the return's timer comes a minute after the gate's end.
 */
export const BACK_MS = 660_000;

/** What follows. */
export type GateDecision =
  | { readonly kind: "passed" }
  | { readonly kind: "wait"; readonly why: string }
  /** Back into the old image, by a reboot. */
  | { readonly kind: "return"; readonly why: string }
  /** The node is back in the old image. */
  | { readonly kind: "back"; readonly code: "gate_failed" | "fell_back"; readonly why: string }
  /** Neither image runs for sure, and no further reboot would tell more. */
  | { readonly kind: "lost"; readonly why: string };

/**
 * Decides the health gate. Its time is the uptime of one boot: it goes on whatever happens to the agent,
 * no clock that is set changes it, and a further boot cannot prolong it, because that one either is in
 * the old image or ends the gate.
 */
export function decideGate(facts: GateFacts): GateDecision {
  const { fromEntry, toEntry, booted, bootId, elapsedMs, gateMs, record, findings } = facts;
  const { backOrdered } = facts;
  const verdict = record?.verdict;
  if (booted === fromEntry) {
    if (record?.back !== undefined) return { kind: "back", ...record.back };
    if (verdict !== undefined) return { kind: "back", code: "gate_failed", why: verdict.why };
    // Without the record an earlier run of this step may have taken the mark away.
    return facts.timerCame && record !== null
      ? {
        kind: "back",
        code: "gate_failed",
        why:
          `${toEntry} did not pass its health gate in ${seconds(gateMs)}, and the agent did not ` +
          "run there to say why: the return's timer restarted the node",
      }
      : {
        kind: "back",
        code: "fell_back",
        why: `${toEntry} did not come up, or not for long: the node was restarted by a panic, a ` +
          "watchdog, a boot loader that could not start it, or a power cut",
      };
  }
  if (verdict !== undefined && verdict.boot_id !== bootId) {
    const what = booted ?? "an image that is not known";
    return {
      kind: "lost",
      why: `${verdict.why}; the node was restarted to return to ${fromEntry}, and ${what} booted`,
    };
  }
  // One return is all there is, whichever of the two ordered it: the agent or the timer.
  if (backOrdered || facts.timerCame) {
    // The boot ID is no help here: there are machines that keep it through a reboot.
    const why = `the node was told to restart into ${fromEntry}`;
    if (elapsedMs < gateMs + BACK_MS) return { kind: "wait", why };
    const what = booted ?? "an image that is not known";
    const reason = verdict === undefined ? "" : `${verdict.why}; `;
    return { kind: "lost", why: `${reason}${why}, and ${what} runs` };
  }
  if (verdict !== undefined) return { kind: "return", why: verdict.why };
  if (booted !== null && booted !== toEntry) {
    return { kind: "lost", why: `neither ${toEntry} nor ${fromEntry} booted, but ${booted}` };
  }
  if (record?.gate_boot !== undefined && record.gate_boot !== bootId) {
    return {
      kind: "return",
      why: `the node restarted within its health gate, into ${toEntry} again`,
    };
  }
  if (elapsedMs >= gateMs) {
    const what = booted === null
      ? "which image runs is not known for sure"
      : findings.length === 0
      ? "it is healthy for too short a time"
      : findings.join("; ");
    return {
      kind: "return",
      why: `${toEntry} did not pass its health gate in ${seconds(gateMs)}: ${what}`,
    };
  }
  if (booted === null) return { kind: "wait", why: "which image runs is not known for sure" };
  if (findings.length > 0) return { kind: "wait", why: findings.join("; ") };
  const steady = Math.min(STEADY_MS, gateMs / 4);
  return facts.healthyForMs >= steady
    ? { kind: "passed" }
    : { kind: "wait", why: "it is healthy, and has to stay so for a while" };
}

/**
 * What the kernel's uptime was at the reboot, seconds: nothing, since it starts anew with the machine. In a
 * container it is the host's and goes on; there it is at least what it was before.
 */
export function uptimeAtReboot(before: number | null, first: number): number {
  return before !== null && first >= before ? before : 0;
}

function seconds(ms: number): string {
  return ms % 60_000 === 0 ? `${ms / 60_000} minutes` : `${ms / 1000} s`;
}
