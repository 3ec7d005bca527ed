/** Ends a sleep early: the program has to end, or there is something to do before its time. */
export interface Waker {
  /** The signal for the next sleep. */
  signal(): AbortSignal;
  /** Ends the sleep that goes on now. What happened before it began, its length was reckoned with. */
  wake(): void;
}

/** A waker that the program's end wakes too. */
export function openWaker(stop: AbortSignal): Waker {
  let current = new AbortController();
  stop.addEventListener("abort", () => current.abort(), { once: true });
  if (stop.aborted) current.abort();
  return {
    signal() {
      if (current.signal.aborted && !stop.aborted) current = new AbortController();
      return current.signal;
    },
    wake: () => current.abort(),
  };
}
