import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { at } from "./live.ts";

/** The name that the agent writes under (operations.md, Cluster). */
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
  // The path in the API says these two, and in a list the API leaves them out.
  const { apiVersion: _apiVersion, kind: _kind, ...fields } = wanted;
  return [
    ...lacking([], live, fields),
    ...applied.flatMap((entry) => letGo([], at(entry, "fieldsV1"), live, wanted)),
  ];
}

type Path = readonly string[];

function lacking(path: Path, live: JsonValue | undefined, wanted: JsonValue): Difference[] {
  if (live === undefined && isNothing(path, wanted)) return [];
  if (!isJsonObject(wanted) || !isJsonObject(live)) {
    return same(path, live, wanted) ? [] : [{ path, ...given(live), wanted }];
  }
  return Object.entries(wanted).flatMap(([key, value]) => {
    const there = own(live, key);
    return there === value ? [] : lacking([...path, key], there, value);
  });
}

/**
 * Whether the API stores nothing for a value: null, where a schema does not take it (a chart's values have
 * none, and Helm unsets a default by it), and a Secret's empty data.
 */
function isNothing(path: Path, wanted: JsonValue): boolean {
  if (wanted === null) return !(path[0] === "spec" && path[1] === "values");
  return path.length === 1 && isEmpty(wanted);
}

function isEmpty(value: JsonValue): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0;
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
    if (!Object.hasOwn(wanted, key)) return [{ path: [...path, key], ...given(there) }];
    // A field of its own has nothing below it.
    return isEmpty(inner) ? [] : letGo([...path, key], inner, there, wanted[key]);
  });
}

function same(path: Path, one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) {
    const there = one ?? other;
    return there === undefined || isNothing(path, there);
  }
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length &&
      one.every((item, index) => same([...path, String(index)], item, other[index]));
  }
  if (isJsonObject(one) && isJsonObject(other)) {
    return [...Object.keys(one), ...Object.keys(other)].every((key) => {
      const [here, there] = [own(one, key), own(other, key)];
      return here === there || same([...path, key], here, there);
    });
  }
  return false;
}

function own(value: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function given(live: JsonValue | undefined): { readonly live?: JsonValue } {
  return live === undefined ? {} : { live };
}
