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
  /** Pauses before another connection when the one before brought nothing new, milliseconds. */
  readonly pausesMs: readonly number[];
  /** The longest wait that is still waited for here; what asks for more ends the download. */
  readonly longestMs: number;
  /** Waits; false where the download has to end. */
  pause(ms: number): Promise<boolean>;
  /** What it has then. */
  stopped(): E;
}

/**
 * Goes on where a connection was cut, at once where it brought something new, and after a pause where not.
 * Ends with the last error when connections in a row have brought nothing, one more than there are pauses.
 */
export async function resume<E>(download: Resuming<E>): Promise<Result<void, E>> {
  let futile = 0;
  while (true) {
    const before = download.total();
    const outcome = await download.ask();
    if (outcome.kind === "whole") return ok(undefined);
    if (outcome.kind === "over") return fail(outcome.error);
    const { waitMs = 0, error } = outcome;
    const broughtSome = download.total() > before;
    if (broughtSome) futile = 0;
    const pause = broughtSome ? 0 : download.pausesMs[futile++];
    if (pause === undefined || waitMs > download.longestMs) return fail(error);
    const ms = Math.max(pause, waitMs);
    if (ms > 0 && !await download.pause(ms)) return fail(download.stopped());
  }
}
