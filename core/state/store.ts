import type { Disk, DiskError } from "../ports/disk.ts";
import { ok, type Result } from "../result.ts";
import type { Found } from "./durable.ts";
import { readDocument, writeDocument } from "./durable.ts";
import { FORMAT, jsonParser, jsonText, type Owner } from "./json_document.ts";
import { STATE_FILE } from "./paths.ts";
import { type State, StateDocument } from "./state.ts";
import { openTurns } from "./turns.ts";

/** The state file while the agent runs: one writer, one value. */
export interface Store {
  /** The state as of now, saved or not. */
  readonly state: State;
  /**
   * Changes the state only once the change is on disk: for what must not be acted upon before it would
   * survive a crash (an accepted desired state, an operation's step). `change` may be called twice, the
   * second time on a state that learnt something during the write.
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

const UTF8 = new TextEncoder();

/** Reads state.json; that of another agent is unreadable. */
export function loadState(disk: Disk, owner?: Owner): Promise<Result<Found<State>, DiskError>> {
  return readDocument(disk, STATE_FILE, jsonParser(StateDocument, owner));
}

/**
 * Opens a store on `initial`. `saved` is the value that the file holds, null where it holds none.
 * Equal values are never written twice, so an idle agent writes nothing.
 */
export function openStore(disk: Disk, initial: State, saved: State | null): Store {
  let state = initial;
  let onDisk = saved === null ? null : { value: saved, text: serialize(saved) };
  // A later value never lands before an earlier one.
  const inTurn = openTurns();

  async function write(value: State): Promise<Result<void, DiskError>> {
    if (value === onDisk?.value) return ok(undefined);
    const text = serialize(value);
    if (text === onDisk?.text) {
      onDisk = { value, text };
      return ok(undefined);
    }
    const written = await writeDocument(disk, STATE_FILE, UTF8.encode(text));
    // A write that failed at its end may be there all the same: then what the file holds is unknown.
    onDisk = written.ok ? { value, text } : null;
    return written;
  }

  return {
    get state() {
      return state;
    },
    commit: (change) =>
      inTurn(async () => {
        const before = state;
        const wanted = change(before);
        const written = await write(wanted);
        // What was learnt meanwhile stays; its own write comes next.
        if (written.ok) state = state === before ? wanted : change(state);
        return written;
      }),
    async keep(change) {
      state = change(state);
      await inTurn(() => write(state));
    },
    async flush() {
      await inTurn(() => write(state));
    },
  };
}

function serialize(state: State): string {
  return jsonText({ format: FORMAT, ...state });
}
