import type { Clock } from "../../core/ports/clock.ts";

/** The real time of a run. */
export interface RunTimeline {
  /** Milliseconds since it began. */
  elapsed(): number;
  /** Plans `work` in `ms` milliseconds; call the answer to take it back. */
  after(ms: number, work: () => void): () => void;
}

/** Time that begins now; what is planned goes off only until `over` aborts. */
export function createRunTimeline(clock: Clock, over: AbortSignal): RunTimeline {
  const begun = clock.monotonic();
  return {
    elapsed: () => clock.monotonic() - begun,
    after(ms, work) {
      if (ms === Infinity) return () => {};
      let isTakenBack = false;
      void clock.sleep(ms, over).then(() => {
        if (!isTakenBack && !over.aborted) work();
      });
      return () => {
        isTakenBack = true;
      };
    },
  };
}
