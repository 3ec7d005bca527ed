import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../core/ports/clock.ts";

/** Simulated time: it stands still until a test moves it. */
export interface FakeClock extends Clock {
  /**
   * Lets `ms` pass. What is due goes off in order of time (then of its start), and whatever it wakes
   * runs until it waits again before the next one goes off. What it starts meanwhile counts too.
   */
  advance(ms: number): Promise<void>;
  /** Lets time pass until the next thing is due and sets it off; false where nothing is. */
  advanceToNext(): Promise<boolean>;
  /** Lets everything run that waits for no time. */
  settle(): Promise<void>;
  /** Sets the wall clock, as somebody on the machine might: what is due moves with `monotonic` alone. */
  setWallClock(now: number): void;
  /** Sleeps and deadlines that wait, and the milliseconds until the next one, or null. */
  pending(): { readonly count: number; readonly nextIn: number | null };
}

/** How a fake clock starts. */
export interface FakeClockOptions {
  /** Wall clock at the start, milliseconds since the epoch; 2026-01-01T00:00:00Z unless told. */
  readonly now?: number;
  /**
   * Waits for what runs outside of time. One turn of the event loop unless told, which is enough for
   * code on fakes; code that waits for real input, output or WebCrypto needs more.
   */
  readonly settle?: () => Promise<void>;
}

interface Timer {
  readonly due: number;
  readonly goOff: () => void;
}

const START = Date.UTC(2026, 0, 1);

/** A clock that stands still until it is moved. */
export function createFakeClock(options: FakeClockOptions = {}): FakeClock {
  const settle = options.settle ?? (() => setImmediate());
  // Sorted by time; those due at the same time stay in the order of their start.
  const timers: Timer[] = [];
  let elapsed = 0;
  let offset = options.now ?? START;

  function start(ms: number, goOff: () => void): () => void {
    const timer = { due: elapsed + (ms > 0 ? ms : 0), goOff };
    timers.splice(placeAfter(timer.due), 0, timer);
    return () => {
      const index = timers.indexOf(timer);
      if (index >= 0) timers.splice(index, 1);
    };
  }

  function placeAfter(due: number): number {
    let low = 0;
    let high = timers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((timers[middle]?.due ?? Infinity) <= due) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Sets off the first timer if it is due by `until`; false if none is. */
  async function goOffUntil(until: number): Promise<boolean> {
    await settle();
    const first = timers[0];
    if (first === undefined || first.due > until || first.due === Infinity) return false;
    timers.shift();
    elapsed = Math.max(elapsed, first.due);
    first.goOff();
    await settle();
    return true;
  }

  return {
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const stop = start(ms, end);
        signal?.addEventListener("abort", end);

        function end(): void {
          stop();
          signal?.removeEventListener("abort", end);
          resolve();
        }
      });
    },
    deadline(ms) {
      const controller = new AbortController();
      const clear = start(ms, () => {
        controller.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
      });
      return { signal: controller.signal, clear };
    },
    async advance(ms) {
      const end = elapsed + ms;
      while (await goOffUntil(end));
      elapsed = Math.max(elapsed, end);
    },
    advanceToNext: () => goOffUntil(Infinity),
    settle,
    setWallClock(now) {
      offset = now - elapsed;
    },
    pending() {
      const next = timers[0];
      return { count: timers.length, nextIn: next === undefined ? null : next.due - elapsed };
    },
  };
}
