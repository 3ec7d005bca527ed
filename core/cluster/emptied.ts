import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { differences } from "./differs.ts";

/**
 * What to apply before `wanted` where a map of the live object loses all that the agent had in it and is
 * wanted empty; null where none does. Server-side apply makes such a map null instead of empty, which
 * means another thing to Helm and is no object to most schemas: let go of first, it comes back empty.
 */
export function withoutEmptied(live: JsonObject, wanted: JsonObject): JsonObject | null {
  let rest = wanted;
  for (const { path, live: found, wanted: field } of differences(live, wanted)) {
    const emptied = field === undefined
      ? emptyAbove(wanted, path)
      : found === null && isEmpty(field)
      ? path
      : null;
    if (emptied !== null) rest = without(rest, emptied);
  }
  return rest === wanted ? null : rest;
}

/** The path of the empty map that a field would be in; null where there is none. */
function emptyAbove(
  wanted: JsonValue,
  path: readonly string[],
  done: readonly string[] = [],
): readonly string[] | null {
  if (isEmpty(wanted) && done.length > 0) return done;
  const [key, ...rest] = path;
  if (key === undefined || !isJsonObject(wanted) || !Object.hasOwn(wanted, key)) return null;
  return emptyAbove(wanted[key] ?? null, rest, [...done, key]);
}

/** Without the field, and without parents that are empty then: they would become null as well. */
function without(object: JsonObject, [key, ...rest]: readonly string[]): JsonObject {
  if (key === undefined || !Object.hasOwn(object, key)) return object;
  const { [key]: inner, ...others } = object;
  if (rest.length === 0 || !isJsonObject(inner)) return others;
  const kept = without(inner, rest);
  return isEmpty(kept) ? others : { ...others, [key]: kept };
}

function isEmpty(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
}
