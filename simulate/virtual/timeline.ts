import { setImmediate } from "node:timers/promises";
import type { Clock } from "../../core/ports/clock.ts";
import { type AbortWatch, createAbortWatch } from "./abort_watch.ts";

/**
 * Simulated time: one queue of what is due, in the order of time and, at the same time, of its planning.
 * Nothing of it waits in real time.
 */
export interface Timeline {
  /** The true time. */
  readonly clock: Clock;
  readonly aborts: AbortWatch;
  /** Milliseconds since the beginning. */
  elapsed(): number;
  /** Plans `work` in `ms` milliseconds; call the answer to take it back. */
  after(ms: number, work: () => void): () => void;
  /**
   * Sets the next event going, where one is due until `until` (milliseconds since the beginning); else
   * that is the time now, and the answer false.
   */
  step(until: number): boolean;
  /** Milliseconds from now to the next event; Infinity where there is none. */
  untilNext(): number;
  /** Events that went off so far. */
  events(): number;
}

interface Planned {
  readonly due: number;
  /** Tells apart what is due at the same time. */
  readonly order: number;
  /** Null once it was taken back. */
  work: (() => void) | null;
}

/** Time that begins at `start`, milliseconds since the epoch. */
export function createTimeline(start: number): Timeline {
  const queue: Planned[] = [];
  const aborts = createAbortWatch();
  let elapsed = 0;
  let order = 0;
  let events = 0;

  function after(ms: number, work: () => void): () => void {
    if (ms === Infinity) return () => {};
    const planned: Planned = { due: elapsed + (ms > 0 ? ms : 0), order: order++, work };
    push(queue, planned);
    return () => {
      planned.work = null;
    };
  }

  const clock: Clock = {
    now: () => start + Math.floor(elapsed),
    monotonic: () => elapsed,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        if (signal === undefined) return void after(ms, resolve);
        const end = () => {
          cancel();
          forget();
          resolve();
        };
        const cancel = after(ms, end);
        const forget = aborts.on(signal, end);
      });
    },
    deadline(ms) {
      const controller = new AbortController();
      const clear = after(ms, () => {
        controller.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
      });
      return { signal: controller.signal, clear };
    },
  };

  /** The next event that was not taken back. */
  function next(): Planned | undefined {
    while (queue[0]?.work === null) pop(queue);
    return queue[0];
  }

  return {
    clock,
    aborts,
    elapsed: () => elapsed,
    after,
    events: () => events,
    untilNext: () => (next()?.due ?? Infinity) - elapsed,
    step(until) {
      const first = next();
      if (first === undefined || first.due > until) {
        elapsed = Math.max(elapsed, until);
        return false;
      }
      pop(queue);
      elapsed = Math.max(elapsed, first.due);
      events += 1;
      first.work?.();
      return true;
    },
  };
}

/** Longer than what a node does in one go waits for answers, shorter than it sleeps; milliseconds. */
const PAUSE_MS = 5_000;

/**
 * Lets time pass on timelines that know nothing of each other, until `until` on each, or until `isOver`
 * says so after some event. What an event sets going runs until it waits for time before the next event of
 * its timeline comes. A few at once are faster than one after the other: a turn of the event loop serves
 * them all, and one finds in the processor's caches what the other has just used. For the latter they go
 * in step: whoever comes to a pause waits for the others, so that all of them wake, sync and converge
 * at once.
 */
export async function runTimelines(
  timelines: readonly Timeline[],
  until: number,
  isOver = () => false,
): Promise<void> {
  const ended = new Set<Timeline>();
  let busy = timelines;
  await setImmediate();
  while (busy.length > 0 && !isOver()) {
    for (const timeline of busy) if (!timeline.step(until)) ended.add(timeline);
    // One turn of the event loop: by then everything that waits for no time has run.
    await setImmediate();
    busy = busy.filter((timeline) => !ended.has(timeline) && timeline.untilNext() < PAUSE_MS);
    if (busy.length === 0) busy = timelines.filter((timeline) => !ended.has(timeline));
  }
}

function isBefore(one: Planned, other: Planned): boolean {
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}

/** Adds to a binary heap whose first is the next. */
function push(heap: Planned[], planned: Planned): void {
  let at = heap.length;
  heap.push(planned);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above] as Planned;
    if (!isBefore(planned, parent)) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = planned;
}

/** Takes the first out of the heap. */
function pop(heap: Planned[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = 2 * at + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1] as Planned, heap[below] as Planned)) {
      below += 1;
    }
    if (!isBefore(heap[below] as Planned, last)) break;
    heap[at] = heap[below] as Planned;
    at = below;
  }
  heap[at] = last;
}
