import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { at } from "./live.ts";

/** The name that the agent writes under (operations.md, Converging). */
const FIELD_MANAGER = "pbx-agent";

/** One field in which a live object is not as wanted. */
export interface Difference {
  /** From the object's top to the field. */
  readonly path: readonly string[];
  /** Absent where the live object has no such field. */
  readonly live?: JsonValue;
  /** Absent where it is wanted no more. */
  readonly wanted?: JsonValue;
}

/** Whether applying `wanted` would change the live object. */
export function differs(live: JsonObject | null, wanted: JsonObject): boolean {
  return live === null || differences(live, wanted).length > 0;
}

/**
 * What applying `wanted` would change: what the live object lacks or has otherwise, and fields that the
 * agent set once and no longer wants. Fields that others set stay, whoever they are; lists count as a
 * whole.
 */
export function differences(live: JsonObject, wanted: JsonObject): readonly Difference[] {
  const entries = at(live, "metadata", "managedFields");
  const applied = (Array.isArray(entries) ? entries : []).filter((entry) =>
    at(entry, "manager") === FIELD_MANAGER && at(entry, "operation") === "Apply"
  );
  return [
    ...lacking([], live, wanted),
    ...applied.flatMap((entry) => letGo([], at(entry, "fieldsV1"), live, wanted)),
  ];
}

type Path = readonly string[];

function lacking(path: Path, live: JsonValue | undefined, wanted: JsonValue): Difference[] {
  if (!isJsonObject(wanted)) return same(live, wanted) ? [] : [{ path, ...given(live), wanted }];
  // An empty object that was never stored is the same as none.
  if (live === undefined && Object.keys(wanted).length === 0) return [];
  if (!isJsonObject(live)) return [{ path, ...given(live), wanted }];
  return Object.entries(wanted).flatMap(([key, value]) => {
    return lacking([...path, key], own(live, key), value);
  });
}

/** `f:<key>` is a field of a map; `k:` and `v:` are items of lists, which count as a whole. */
function letGo(
  path: Path,
  fields: JsonValue | undefined,
  live: JsonValue | undefined,
  wanted: JsonValue | undefined,
): Difference[] {
  if (!isJsonObject(fields) || !isJsonObject(wanted)) return [];
  return Object.entries(fields).flatMap(([name, inner]) => {
    if (!name.startsWith("f:")) return [];
    const key = name.slice(2);
    const there = isJsonObject(live) ? own(live, key) : undefined;
    const here = [...path, key];
    if (!Object.hasOwn(wanted, key)) return [{ path: here, ...given(there) }];
    return letGo(here, inner, there, wanted[key]);
  });
}

/** Whether two values are the same but for empty objects and nulls, which the API does not store. */
function same(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (isJsonObject(one) || isJsonObject(other)) {
    const [left, right] = [one ?? {}, other ?? {}];
    if (!isJsonObject(left) || !isJsonObject(right)) return false;
    return [...Object.keys(left), ...Object.keys(right)].every((key) =>
      same(own(left, key), own(right, key))
    );
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => same(item, other[index]));
  }
  return one === other || (one ?? null) === (other ?? null);
}

function own(value: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function given(live: JsonValue | undefined): { readonly live?: JsonValue } {
  return live === undefined ? {} : { live };
}
