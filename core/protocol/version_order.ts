import { fail, ok, type Result } from "../result.ts";

const SEMANTIC = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/**
 * Negative where `a` is lower than `b`, by Semantic Versioning 2.0.0 §11. The error names the version
 * that has no order: only versions that can be compared can be kept from going back.
 */
export function compareVersions(a: string, b: string): Result<number, string> {
  const [left, right] = [SEMANTIC.exec(a), SEMANTIC.exec(b)];
  if (left === null) return fail(`${a} is no version like 1.2.3 or 1.2.3-rc.1`);
  if (right === null) return fail(`${b} is no version like 1.2.3 or 1.2.3-rc.1`);
  for (const part of [1, 2, 3]) {
    const order = compareNumbers(left[part] ?? "0", right[part] ?? "0");
    if (order !== 0) return ok(order);
  }
  return ok(comparePreReleases(left[4], right[4]));
}

function comparePreReleases(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) {
    return a === b ? 0 : a === undefined ? 1 : -1;
  }
  const [left, right] = [a.split("."), b.split(".")];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const order = compareIdentifiers(left[index] ?? "", right[index] ?? "");
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareIdentifiers(a: string, b: string): number {
  const [isNumberA, isNumberB] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumberA && isNumberB) return compareNumbers(a, b);
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

function compareNumbers(a: string, b: string): number {
  const difference = BigInt(a) - BigInt(b);
  return difference === 0n ? 0 : difference < 0n ? -1 : 1;
}
