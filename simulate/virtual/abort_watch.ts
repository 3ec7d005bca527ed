/** Hears of the end of signals, for whatever waits until then. */
export interface AbortWatch {
  /** Calls `work` once the signal is aborted; call the answer to take that back. */
  on(signal: AbortSignal, work: () => void): () => void;
}

/**
 * One listener for each signal, however often it is waited for: every sleep and every request of an agent
 * waits for the same few signals, and listeners that come and go would be a tenth of a simulated day.
 */
export function createAbortWatch(): AbortWatch {
  const waiting = new WeakMap<AbortSignal, Set<() => void>>();

  function waitingFor(signal: AbortSignal): Set<() => void> {
    const known = waiting.get(signal);
    if (known !== undefined) return known;
    const works = new Set<() => void>();
    waiting.set(signal, works);
    signal.addEventListener("abort", () => {
      for (const work of [...works]) work();
    });
    return works;
  }

  return {
    on(signal, work) {
      const works = waitingFor(signal);
      works.add(work);
      return () => void works.delete(work);
    },
  };
}
