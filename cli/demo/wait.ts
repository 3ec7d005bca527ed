/** Looks again and again until `look` gives something; the error names what never came. */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | null | undefined | false>,
  limitMs = 20_000,
): Promise<T> {
  const until = Date.now() + limitMs;
  while (Date.now() < until) {
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited ${limitMs / 1000} s for ${what}, which did not come`);
}
