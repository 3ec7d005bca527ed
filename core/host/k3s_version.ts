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

/**
 * What is against a node's change from one version of k3s to another: Kubernetes goes up by one minor
 * version at a time, and never down. Null where nothing is; a part of a sentence, for people.
 */
export function k3sStepFault(from: string, to: string): string | null {
  const [left, right] = [numbersOf(from), numbersOf(to)];
  if (left === null || right === null) {
    return `k3s ${left === null ? from : to} is no version that can be compared`;
  }
  if (isOlderK3s(to, from)) {
    return `k3s ${to} is older than ${from}, and a database is never taken back by a version`;
  }
  const [[major = 0, minor = 0], [newMajor = 0, newMinor = 0]] = [left, right];
  if (newMajor !== major || newMinor > minor + 1) {
    return `k3s goes up by one minor version at a time, and ${from} to ${to} is more: ` +
      "upgrade to a release in between first";
  }
  return null;
}
