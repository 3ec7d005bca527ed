import type { Clock } from "../../core/ports/clock.ts";

/** The longest time a timer of the runtime can take; a longer one would go off at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The machine's own time. A sleep or deadline that was ended leaves neither timer nor listener. */
export function createNodeClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const stop = startTimer(ms, end);
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
      const clear = startTimer(ms, () => {
        controller.abort(new DOMException(`not done within ${ms} ms`, "TimeoutError"));
      });
      return { signal: controller.signal, clear };
    },
  };
}

/** Calls `then` after `ms`, however long that is; the function it gives stops it. */
function startTimer(ms: number, then: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;

  function wait(left: number): void {
    const step = Math.min(left, LONGEST_TIMER);
    timer = setTimeout(() => left > step ? wait(left - step) : then(), step);
  }

  wait(ms > 0 ? ms : 0);
  return () => clearTimeout(timer);
}
