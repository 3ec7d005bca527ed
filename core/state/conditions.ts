import type { ConditionCode } from "../protocol/conditions.ts";
import type { Condition } from "../protocol/sync.ts";

/**
 * The conditions with `code` raised: one per code, `since` kept where it was raised before.
 * `now`: RFC 3339.
 */
export function raise(
  conditions: readonly Condition[],
  code: ConditionCode,
  message: string,
  now: string,
): Condition[] {
  const before = conditions.find((condition) => condition.code === code);
  if (before === undefined) return [...conditions, { code, message, since: now }];
  return conditions.map((condition) =>
    condition === before ? { code, message, since: before.since } : condition
  );
}

/** The conditions without those named: their cause is gone. */
export function clear(
  conditions: readonly Condition[],
  ...codes: readonly ConditionCode[]
): Condition[] {
  return conditions.filter((condition) => !codes.includes(condition.code));
}
