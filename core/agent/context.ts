import type { Ports } from "../ports/mod.ts";
import type { DiskError } from "../ports/disk.ts";
import { printable } from "../printable.ts";
import type { ConditionCode } from "../protocol/conditions.ts";
import type { Config } from "../state/config.ts";
import { clear, raise } from "../state/conditions.ts";
import type { Binding } from "../state/identity.ts";
import type { KeyWork } from "../protocol/key_work.ts";
import type { Sign } from "../protocol/signing.ts";
import type { SnapshotRecord } from "../state/snapshot_record.ts";
import type { Store } from "../state/store.ts";
import type { Witnesses } from "../state/witnesses.ts";
import type { ApprovalMemory } from "./approval_memory.ts";
import type { Channels } from "./channels.ts";
import type { CorrectedClock } from "./corrected_clock.ts";
import type { History } from "./history.ts";
import type { IdentityHolder } from "./identity_holder.ts";
import type { ProgramInfo } from "./program_info.ts";
import type { RequestMemory } from "./request_memory.ts";

/** What every part of the running agent works with. */
export interface Context extends KeyWork {
  readonly ports: Ports;
  readonly program: ProgramInfo;
  readonly config: Config;
  readonly store: Store;
  readonly channels: Channels;
  /** The portal's time as far as it is known. */
  readonly time: CorrectedClock;
  readonly requests: RequestMemory;
  readonly approvals: ApprovalMemory;
  /** What this node's snapshots were like when k3s had written them. */
  readonly snapshots: SnapshotRecord;
  /** Who ordered what, for the people who look after the node. */
  readonly history: History;
  /** Aborts when the program has to end. */
  readonly stop: AbortSignal;
  /** How far cycles are apart, milliseconds. */
  readonly cycleMs: number;
  /** How long a new version has for its first successful sync, milliseconds. */
  readonly trialMs: number;
  /** How long the image of an upgrade has to pass its health gate, milliseconds. */
  readonly gateMs: number;
  /** How requests are signed, whether the program said so or not. */
  readonly sign: Sign;
  /** The write that fails for want of room, if one does. */
  readonly diskTrouble: () => DiskError | null;
}

/** The context of an agent that has an ID. */
export interface BoundContext extends Context {
  readonly binding: Binding;
  readonly identity: IdentityHolder;
  /** Base URL of the portal it talks to. */
  readonly portal: string;
}

/** The portal's time as far as it is known, milliseconds since the epoch. */
export function correctedNow({ time }: Context): number {
  return time.now();
}

/** What the clocks say now, for what is forgotten only when all of them agree. */
export function witnesses({ time }: Context): Witnesses {
  return { now: time.now(), isCertain: time.isCertain(), livedMs: time.livedMs() };
}

/** The corrected time as RFC 3339. */
export function timestamp(context: Context): string {
  return new Date(correctedNow(context)).toISOString();
}

/** Longest message of a condition: a report must fit its body. */
const MAX_MESSAGE = 500;

/** Raises a condition; logged when it is new. */
export async function raiseCondition(
  context: Context,
  code: ConditionCode,
  message: string,
): Promise<void> {
  const { store, ports } = context;
  const shown = printable(message).slice(0, MAX_MESSAGE);
  if (store.state.conditions.some((one) => one.code === code && one.message === shown)) return;
  ports.log.write("warn", code, shown);
  const now = timestamp(context);
  await store.keep((state) => ({
    ...state,
    conditions: raise(state.conditions, code, shown, now),
  }));
}

/** Clears conditions whose cause is gone; logged when one was raised. */
export function clearConditions(
  context: Context,
  ...codes: readonly ConditionCode[]
): Promise<void> {
  return context.store.state.conditions.length === 0 ? DONE : clearRaised(context, codes);
}

const DONE = Promise.resolve();

async function clearRaised(
  { store, ports }: Context,
  codes: readonly ConditionCode[],
): Promise<void> {
  const gone = store.state.conditions.filter((one) => codes.includes(one.code));
  if (gone.length === 0) return;
  for (const { code } of gone) ports.log.write("info", `${code}_cleared`, `${code} is over`);
  await store.keep((state) => ({ ...state, conditions: clear(state.conditions, ...codes) }));
}
