import type { Clock } from "../../core/ports/clock.ts";

/** Saves a state before answers leave that depend on it. */
export interface Saver {
  /** Resolves when all that was changed until now is saved; rejects where that fails. */
  saved(): Promise<void>;
}

/** What a saver works with. */
export interface SaverOptions {
  readonly save: () => void;
  readonly isDirty: () => boolean;
  readonly clock: Pick<Clock, "sleep"> & Partial<Pick<Clock, "monotonic">>;
}

/** A save that takes no longer is made for every answer, milliseconds. */
const AT_ONCE_MS = 5;
/** Of the time no more than one part in so many goes into saving. */
const PARTS = 4;

/**
 * A state of thousands of nodes takes longer to write than a request to answer: then the answers of a
 * moment wait for one save together.
 */
export function createSaver({ save, isDirty, clock }: SaverOptions): Saver {
  const now = () => clock.monotonic?.() ?? 0;
  let took = 0;
  let waiting: Promise<void> | null = null;

  function saveNow(): void {
    const begun = now();
    save();
    took = now() - begun;
  }

  async function saveSoon(): Promise<void> {
    await clock.sleep(took * (PARTS - 1));
    waiting = null;
    saveNow();
  }

  return {
    saved() {
      if (waiting !== null) return waiting;
      if (!isDirty()) return Promise.resolve();
      if (took > AT_ONCE_MS) return waiting = saveSoon();
      try {
        saveNow();
        return Promise.resolve();
      } catch (error) {
        return Promise.reject(error);
      }
    },
  };
}
