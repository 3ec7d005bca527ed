import type { StepTools } from "./definition.ts";

/** Looks again and again for at most `ms` milliseconds; null where it did not come. */
export async function lookFor<P, T>(
  { ports, waitFor }: StepTools<P>,
  what: string,
  ms: number,
  look: () => Promise<T | null>,
): Promise<T | null> {
  const until = ports.clock.monotonic() + ms;
  const end = await waitFor(what, async () => {
    const found = await look();
    return found !== null || ports.clock.monotonic() >= until ? { found } : null;
  });
  return end?.found ?? null;
}
