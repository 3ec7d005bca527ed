/**
 * Asks `probe` again and again until it gives something other than `undefined`, and returns that.
 * Throws after `timeoutMs` with `what` and, where the probe threw, its last error.
 */
export async function waitUntil<T>(
  what: string,
  probe: () => Promise<T | undefined>,
  options: { readonly timeoutMs: number; readonly everyMs?: number },
): Promise<T> {
  const end = performance.now() + options.timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const found = await probe();
      if (found !== undefined) return found;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() >= end) {
      const reason = lastError === undefined ? "" : `; last error: ${String(lastError)}`;
      throw new Error(`waited ${options.timeoutMs} ms for ${what}${reason}`);
    }
    await new Promise((resolve) => setTimeout(resolve, options.everyMs ?? 50));
  }
}
