import { fail, ok, type Result } from "../../core/result.ts";

/**
 * How one connection of a download ended: all is there, it broke off, or it is over. `waitMs`: how long
 * the server asks to be left alone.
 */
export type Outcome<E> =
  | { readonly kind: "whole" }
  | { readonly kind: "cut"; readonly error: E; readonly waitMs?: number }
  | { readonly kind: "over"; readonly error: E };

/** A download over as many connections as it takes. */
export interface Resuming<E> {
  /** Asks for what is missing and takes it. */
  ask(): Promise<Outcome<E>>;
  /** How much is there. */
  total(): number;
  /** How much it will be in the end, as far as that is known. */
  readonly size: number;
  /**
   * Pauses before another connection when the ones before brought next to nothing, milliseconds; the last
   * one stands for all that follow.
   */
  readonly pausesMs: readonly number[];
  /** The longest wait that is still waited for here; what asks for more ends the download. */
  readonly longestMs: number;
  /** Waits; false where the download has to end. */
  pause(ms: number): Promise<boolean>;
  /** What it has then. */
  stopped(): E;
  /** What it has when so many connections have brought next to nothing; the last one ended with `error`. */
  tooSlow(error: E, connections: number): E;
}

/**
 * What counts as progress: so many bytes, or this part of a file that is smaller than a megabyte. Below it
 * the connections cost more than they bring.
 */
const PROGRESS_BYTES = 64 * 1024;
const PROGRESS_PART = 1 / 16;

/**
 * Connections that may bring less than progress takes, all together: 1.3 KB each are enough to go on for
 * ever. With the pauses this is some minutes of a server that hands out bytes one by one.
 */
const MAX_SMALL = 50;

/**
 * Goes on where a connection was cut: at once where that was progress, after pauses that grow where it was
 * not. Ends with the last error when connections in a row have brought nothing, one more than there are
 * pauses, or when {@link MAX_SMALL} since the last progress have brought less than it takes.
 */
export async function resume<E>(download: Resuming<E>): Promise<Result<void, E>> {
  const { pausesMs, longestMs } = download;
  const progress = Math.max(1, Math.min(PROGRESS_BYTES, download.size * PROGRESS_PART));
  let mark = download.total();
  let empty = 0;
  let small = 0;
  while (true) {
    const before = download.total();
    const outcome = await download.ask();
    if (outcome.kind === "whole") return ok(undefined);
    if (outcome.kind === "over") return fail(outcome.error);
    const { waitMs = 0, error } = outcome;
    const total = download.total();
    empty = total > before ? 0 : empty + 1;
    small = total - mark >= progress ? 0 : small + 1;
    if (small === 0) mark = total;
    if (empty > pausesMs.length || waitMs > longestMs) return fail(error);
    if (small >= MAX_SMALL) return fail(download.tooSlow(error, small));
    const pause = small === 0 ? 0 : pausesMs[Math.min(small, pausesMs.length) - 1] ?? 0;
    const ms = Math.max(pause, waitMs);
    if (ms > 0 && !await download.pause(ms)) return fail(download.stopped());
  }
}
