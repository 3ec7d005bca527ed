import type { Clock } from "../ports/clock.ts";
import type { Machine } from "../ports/machine.ts";
import type { Store } from "../state/store.ts";
import {
  anchorOf,
  type Boot,
  type Doubt,
  isStep,
  judgeTold,
  known,
  type Reading,
} from "./corrected_time.ts";

/**
 * The portal's time as far as it is known (protocol §1, the corrected clock). It runs on the monotonic clock;
 * see `corrected_time.ts` for what it believes.
 */
export interface CorrectedClock {
  /** The corrected time, milliseconds since the epoch. */
  now(): number;
  /**
   * Whether the corrected time is certain. What waits for a maintenance window starts at no other time.
   * Looks at both clocks of the node, so that a step just before the question counts.
   */
  isCertain(): boolean;
  /**
   * Whether the portal has told its time in this boot. Before that the wall clock alone says how long the
   * machine was off.
   */
  isHeard(): boolean;
  /** For how long this agent has run in all, milliseconds, by the monotonic clock alone. */
  livedMs(): number;
  /**
   * The portal told its time: `portal`, milliseconds since the epoch, in an answer to a request that was
   * sent at `sent` of the monotonic clock.
   */
  told(portal: number, sent: number): Promise<void>;
  /** Stores how long the agent has lived, where that has become an hour more, or `everyMs`. */
  save(everyMs?: number): Promise<void>;
}

/** A crash forgets at most so much of the agent's life; an idle agent writes no more often. */
const SAVE_MS = 3_600_000;
/** The stored offset is corrected only where it is wrong by more: an idle agent writes nothing. */
const OFFSET_JITTER_MS = 2_000;

/** The corrected clock of a process that has just started on what `store` knows. */
export async function openCorrectedClock(
  { clock, machine, store }: {
    readonly clock: Clock;
    readonly machine: Machine;
    readonly store: Store;
  },
): Promise<CorrectedClock> {
  const readBoot = async (): Promise<Boot> => {
    const { bootId, uptimeSeconds } = await machine.facts();
    return { id: bootId, uptimeMs: uptimeSeconds === null ? null : uptimeSeconds * 1000 };
  };
  const read = (): Reading => ({ wall: clock.now(), monotonic: clock.monotonic() });

  const boot = await readBoot();
  const start = read();
  const { clock: record, clock_offset_ms: offset } = store.state;
  const begun = known(record, offset, start, boot);
  let last = start;
  let doubt: Doubt | null = begun.doubt;
  let isHeard = begun.certain !== null;
  /** The corrected time is the monotonic one and this. */
  let ahead = begun.expected - start.monotonic;
  /** The same of the last time that was certain, in this boot. */
  let certainAhead: number | null = begun.certain === null ? null : begun.certain - start.monotonic;

  function look(): Reading {
    const now = read();
    if (isStep(last, now) && doubt?.kind !== "answer") doubt = { kind: "step" };
    last = now;
    return now;
  }

  const livedMs = () => Math.floor(record.lived_ms + clock.monotonic() - start.monotonic);

  /** Stores the offset, how long the agent has lived, and where the time is certain its anchor. */
  async function keep(corrected: number, wall: number): Promise<void> {
    const inDoubt = doubt !== null;
    const anchor = inDoubt ? null : anchorOf(corrected, wall, await readBoot());
    await store.keep((state) => ({
      ...state,
      clock_offset_ms: Math.round(corrected - wall),
      clock: {
        lived_ms: livedMs(),
        anchor: anchor ?? state.clock.anchor,
        ...(inDoubt ? { offset_in_doubt: true } : {}),
      },
    }));
  }

  return {
    now: () => clock.monotonic() + ahead,
    isCertain() {
      look();
      return doubt === null;
    },
    isHeard: () => isHeard,
    livedMs,
    async told(portal, sent) {
      const received = look();
      isHeard = true;
      const expected = received.monotonic + ahead;
      const certain = certainAhead === null ? null : received.monotonic + certainAhead;
      const wasCertain = doubt === null;
      const judged = judgeTold({ portal, sent, received }, { expected, certain, doubt });
      doubt = judged.doubt;
      ahead = judged.corrected - received.monotonic;
      if (doubt === null) certainAhead = ahead;
      const offset = judged.corrected - received.wall;
      const isOffsetKnown = Math.abs(offset - store.state.clock_offset_ms) <= OFFSET_JITTER_MS;
      const isAnchored = doubt !== null || (wasCertain && judged.corrected === expected);
      const isDoubtKnown = (store.state.clock.offset_in_doubt === true) === (doubt !== null);
      if (!isOffsetKnown || !isAnchored || !isDoubtKnown) {
        await keep(judged.corrected, received.wall);
      }
    },
    async save(everyMs = SAVE_MS) {
      if (livedMs() - store.state.clock.lived_ms < everyMs) return;
      await store.keep((state) => ({
        ...state,
        clock: { ...state.clock, lived_ms: livedMs() },
      }));
    },
  };
}
