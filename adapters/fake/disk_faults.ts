import type { Disk, DiskError } from "../../core/ports/disk.ts";
import { Cut } from "./cut.ts";

/** A call of the port. */
export type DiskOperation = keyof Disk;

/** Looks at every call before it is done; a code makes it fail so, and what it throws goes through. */
export type DiskHook = (operation: DiskOperation, path: string) => DiskError["code"] | null;

/**
 * Where in a call a cut falls: `before` it does anything, `during` it (a write has put down half of its
 * bytes; calls that know no half are not begun), or `after` it is done but before anybody hears of it.
 */
export type CutMoment = "before" | "during" | "after";

/** What a fault is narrowed to; an empty one takes any call. A rename goes by its target. */
export interface FaultMatch {
  readonly operation?: DiskOperation;
  readonly path?: string;
}

/** How tests break a fake disk. */
export interface DiskFaults {
  /** Makes the next matching call fail, once. Several wait in line. */
  failNext(code: DiskError["code"], match?: FaultMatch): void;
  /** Sets the hook that sees every call; null takes it away. */
  onCall(hook: DiskHook | null): void;
  /**
   * Cuts the run at the `call`-th call from now (1 is the next): it throws {@link Cut}, and so does
   * every later call until `restart` or `crash`, because a dead agent cleans nothing up.
   */
  cutAt(call: number, moment?: CutMoment): void;
  /** Whether a cut has fallen and the disk still refuses every call. */
  isCut(): boolean;
  /** The process starts again on a machine that kept its power: nothing is lost. */
  restart(): void;
  /** Calls of the port so far. */
  calls(): number;
}

/** The side of {@link DiskFaults} that the fake disk asks. */
export interface FaultSource extends DiskFaults {
  /** Counts a call; throws {@link Cut}, or says how the call fails, or null where it is done. */
  enter(operation: DiskOperation, path: string, half: () => void): DiskError["code"] | null;
  /** Ends the call that was entered; throws {@link Cut} where the cut falls after it. */
  leave(operation: DiskOperation, path: string): void;
}

/** A source of faults that has none yet. */
export function createFaults(): FaultSource {
  const waiting: { code: DiskError["code"]; match: FaultMatch }[] = [];
  let hook: DiskHook | null = null;
  let cut: { call: number; moment: CutMoment } | null = null;
  let dead = false;
  let count = 0;

  function die(operation: DiskOperation, path: string): never {
    dead = true;
    throw new Cut(operation, path);
  }

  function nextFailure(operation: DiskOperation, path: string): DiskError["code"] | null {
    const index = waiting.findIndex(({ match }) =>
      (match.operation ?? operation) === operation && (match.path ?? path) === path
    );
    return index < 0 ? null : waiting.splice(index, 1)[0]?.code ?? null;
  }

  return {
    enter(operation, path, half) {
      if (dead) throw new Cut(operation, path);
      count += 1;
      if (cut?.call === count && cut.moment !== "after") {
        if (cut.moment === "during") half();
        die(operation, path);
      }
      try {
        return hook?.(operation, path) ?? nextFailure(operation, path);
      } catch (cause) {
        if (cause instanceof Cut) dead = true;
        throw cause;
      }
    },
    leave(operation, path) {
      if (cut?.call === count && cut.moment === "after") die(operation, path);
    },
    failNext(code, match = {}) {
      waiting.push({ code, match });
    },
    onCall(next) {
      hook = next;
    },
    cutAt(call, moment = "before") {
      cut = { call: count + call, moment };
    },
    isCut: () => dead,
    restart() {
      dead = false;
      cut = null;
    },
    calls: () => count,
  };
}
