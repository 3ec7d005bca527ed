/** The members of `value` that `like` has, at every depth: to compare a part of a value. */
export function partOf(value: unknown, like: unknown): unknown {
  if (!isObject(value) || !isObject(like)) return value;
  return Object.fromEntries(
    Object.entries(like).map(([key, member]) => [key, partOf(value[key], member)]),
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
