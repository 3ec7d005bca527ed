/** How long anything may take that a test waits for; far more than it needs, for busy machines. */
export const LIMIT_MS = 60_000;

/** Looks again and again until `look` gives something; the error names what never came. */
export async function waitFor<T>(
  what: string,
  look: () => T | Promise<T>,
): Promise<Exclude<T, false | null | undefined>> {
  const until = performance.now() + LIMIT_MS;
  while (performance.now() < until) {
    const found = await look();
    if (found !== false && found !== null && found !== undefined) {
      return found as Exclude<T, false | null | undefined>;
    }
    await pause(20);
  }
  throw new Error(`waited ${LIMIT_MS / 1000} s for ${what}, which did not come`);
}

/** Some time, for what must not happen to have the chance to happen. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Runs `work` on every item, at most `width` at a time: each keeps a processor busy at its start. */
export async function each<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  width = 4,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  // All of them are waited for, so that no world is left standing when one fails.
  const ends = await Promise.allSettled(Array.from({ length: width }, worker));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
