import type { Clock } from "../../core/ports/clock.ts";

/** An answer that came this soon needs no look at the connection, milliseconds. Half of a short limit. */
const GRACE_MS = 1_000;

/**
 * Whether a peer took no connection within `connectMs`. `fetch` has no limit for connecting and does not
 * say when it is connected; so when nothing came for a second, a connection of our own is tried in what
 * is left of the time. Only silence counts: a refusal is `fetch`'s to report.
 *
 * @param until aborts as soon as the question is settled another way; the answer is then false
 */
export async function connectTimedOut(
  peer: { readonly hostname: string; readonly port: number },
  connectMs: number,
  clock: Clock,
  until: AbortSignal,
): Promise<boolean> {
  const grace = Math.min(GRACE_MS, connectMs / 2);
  await clock.sleep(grace, until);
  if (until.aborted) return false;
  const probe = new AbortController();
  const limit = new AbortController();
  const endAll = () => {
    probe.abort();
    limit.abort();
  };
  until.addEventListener("abort", endAll);
  try {
    const tried = Deno.connect({ ...peer, signal: probe.signal }).then((connection) => {
      connection.close();
      return false;
    }, () => false);
    const silent = clock.sleep(connectMs - grace, limit.signal).then(() => true);
    return await Promise.race([tried, silent]) && !until.aborted;
  } finally {
    until.removeEventListener("abort", endAll);
    endAll();
  }
}
