import type { NotApproved } from "../protocol/approval.ts";

/** Who may wait for an approval: an answer has one desired state and one operation. */
export type Waiting = "desired" | "operation";

/** What is remembered about approvals since the agent's start. */
export interface ApprovalMemory {
  /** Why each of the two is not approved; absent where it is, or needs none. */
  readonly faults: Map<Waiting, NotApproved>;
  /** The first of two proven answers: its time, and when it came on the monotonic clock. */
  candidate: { readonly time: number; readonly at: number } | null;
  /** The highest time of a proven answer that a later one confirmed, milliseconds since the epoch. */
  confirmed: number;
}

/** An empty memory. */
export function openApprovalMemory(): ApprovalMemory {
  return { faults: new Map(), candidate: null, confirmed: 0 };
}

/** How far two proven answers are apart at least, milliseconds. */
const APART_MS = 60_000;

/**
 * Takes the time of a proven answer. It counts once another one, at least 60 s later, shows a time that is
 * later too: one wrong answer must not make every approval an expired one.
 */
export function takeProvenTime(memory: ApprovalMemory, time: number, monotonic: number): void {
  const { candidate } = memory;
  if (candidate === null) {
    memory.candidate = { time, at: monotonic };
    return;
  }
  if (monotonic - candidate.at < APART_MS) return;
  if (time >= candidate.time) memory.confirmed = Math.max(memory.confirmed, candidate.time);
  memory.candidate = { time, at: monotonic };
}
