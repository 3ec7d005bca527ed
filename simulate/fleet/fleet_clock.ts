import type { Clock } from "../../core/ports/clock.ts";

/** Hears from the clock of one agent. Times are of the monotonic clock, milliseconds. */
export interface ClockWatch {
  /** A sleep ended: when it was to end, and when the agent was really woken. */
  woke(due: number, at: number): void;
}

/** The machine's clock for one agent, with somebody who hears when its sleeps were due. */
export function watchClock(clock: Clock, watch: ClockWatch): Clock {
  return {
    ...clock,
    async sleep(ms, signal) {
      const due = clock.monotonic() + Math.max(0, ms);
      await clock.sleep(ms, signal);
      const at = clock.monotonic();
      // Woken early, it was due now.
      watch.woke(Math.min(due, at), at);
    },
  };
}
