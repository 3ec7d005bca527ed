import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/** A member that two documents have differently; undefined where one has none. */
export interface ChangedMember {
  /** Names with dots between them. */
  readonly path: string;
  readonly from: JsonValue | undefined;
  readonly to: JsonValue | undefined;
}

/**
 * What differs between two JSON values, member by member. Sealed boxes and lists are one value each; an
 * object that only one side has is told member by member too.
 */
export function changedMembers(
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  path = "",
): readonly ChangedMember[] {
  const before = membersOf(from);
  const after = membersOf(to);
  const isOfMembers = before !== null && after !== null ||
    from === undefined && hasMembers(after) || to === undefined && hasMembers(before);
  if (!isOfMembers) return isSame(from, to) ? [] : [{ path, from, to }];
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].sort();
  return names.flatMap((name) =>
    changedMembers(before?.[name], after?.[name], path === "" ? name : `${path}.${name}`)
  );
}

function membersOf(value: JsonValue | undefined): JsonObject | null {
  return isJsonObject(value) && typeof value["sealed"] !== "string" ? value : null;
}

function hasMembers(value: JsonObject | null): boolean {
  return value !== null && Object.keys(value).length > 0;
}

function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index]));
  }
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]));
}
