/** The numbers of a version such as `v1.36.3+k3s1`; null for what is none. */
function numbersOf(version: string): readonly number[] | null {
  const [, ...numbers] =
    /^v?(\d+)\.(\d+)\.(\d+)(?:-[0-9A-Za-z.-]+)?(?:\+k3s(\d+))?/.exec(version) ??
      [];
  return numbers.length === 0 ? null : numbers.map((number) => Number(number ?? 0));
}

/** Whether a version of k3s is older than another; false where either is no version. */
export function isOlderK3s(version: string, than: string): boolean {
  const [left, right] = [numbersOf(version), numbersOf(than)];
  if (left === null || right === null) return false;
  for (const [index, number] of left.entries()) {
    const other = right[index] ?? 0;
    if (number !== other) return number < other;
  }
  return false;
}

/** The newest of some versions; null of none. */
export function newestK3s(versions: readonly string[]): string | null {
  return versions.reduce<string | null>(
    (newest, version) => newest === null || isOlderK3s(newest, version) ? version : newest,
    null,
  );
}
