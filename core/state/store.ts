import type { Disk, DiskError } from "../ports/disk.ts";
import { fail, ok } from "../result.ts";
import type { Result } from "../result.ts";
import type { Found } from "./durable.ts";
import { readDocument, writeDocument } from "./durable.ts";
import { FORMAT, jsonBytes, jsonParser } from "./json_document.ts";
import { STATE_FILE } from "./paths.ts";
import { type State, StateDocument } from "./state.ts";

/** The state file while the agent runs: one writer, one value. */
export interface Store {
  /** The state as of now, saved or not. */
  readonly state: State;
  /**
   * Changes the state only if the change is on disk: for what must not be acted upon before it would
   * survive a crash (an accepted desired state, an operation's step).
   */
  commit(change: (state: State) => State): Promise<Result<void, DiskError>>;
  /**
   * Changes the state at once and saves it as soon as the disk allows: for what is learnt (backoff,
   * conditions), which must count even while nothing can be written.
   */
  keep(change: (state: State) => State): Promise<void>;
  /** Tries again to save what could not be saved. Writes nothing when nothing is owed. */
  flush(): Promise<void>;
}

/** Reads state.json. */
export function loadState(disk: Disk): Promise<Result<Found<State>, DiskError>> {
  return readDocument(disk, STATE_FILE, jsonParser(StateDocument));
}

/**
 * Opens a store on `initial`. `saved` is the value that the file holds, null where it holds none.
 * Equal values are never written twice, so an idle agent writes nothing.
 */
export function openStore(disk: Disk, initial: State, saved: State | null): Store {
  let state = initial;
  let onDisk = saved === null ? null : serialize(saved);
  /** Writes in order: a later value never lands before an earlier one. */
  let queue: Promise<unknown> = Promise.resolve();

  function save(value: State): Promise<Result<void, DiskError>> {
    const run = queue.then(async () => {
      const text = serialize(value);
      if (text === onDisk) return ok(undefined);
      const written = await writeDocument(
        disk,
        STATE_FILE,
        jsonBytes({ format: FORMAT, ...value }),
      );
      if (!written.ok) {
        // A write that failed at its end may be there all the same: what the file holds is unknown.
        onDisk = null;
        return fail(written.error);
      }
      onDisk = text;
      return ok(undefined);
    });
    queue = run.catch(() => undefined);
    return run;
  }

  return {
    get state() {
      return state;
    },
    async commit(change) {
      const before = state;
      const wanted = change(before);
      state = wanted;
      const saved = await save(wanted);
      if (!saved.ok && state === wanted) state = before;
      return saved;
    },
    async keep(change) {
      state = change(state);
      await save(state);
    },
    async flush() {
      await save(state);
    },
  };
}

function serialize(state: State): string {
  return JSON.stringify(state);
}
