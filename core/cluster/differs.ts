import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { at } from "./live.ts";

/** The name that the agent writes under (operations.md, Converging). */
const FIELD_MANAGER = "pbx-agent";

/**
 * Whether applying `wanted` would change the live object: it lacks something of what is wanted, or it
 * still has a field that the agent set once and no longer wants. Fields that others set stay, whoever
 * they are; lists count as a whole.
 */
export function differs(live: JsonObject | null, wanted: JsonObject): boolean {
  return live === null || !holds(live, wanted) || ownsMore(live, wanted);
}

function holds(live: JsonValue | undefined, wanted: JsonValue): boolean {
  if (isJsonObject(wanted)) {
    // An empty object or a null that was never stored is the same as none.
    if (live === undefined) return Object.keys(wanted).length === 0;
    return isJsonObject(live) &&
      Object.entries(wanted).every(([key, value]) =>
        holds(Object.hasOwn(live, key) ? live[key] : undefined, value)
      );
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length &&
      wanted.every((item, index) => same(live[index], item));
  }
  return live === wanted || (live === undefined && wanted === null);
}

function same(one: JsonValue | undefined, other: JsonValue): boolean {
  return one !== undefined && holds(one, other) && holds(other, one);
}

/** Whether the API has the agent down as owner of a field that is wanted no more. */
function ownsMore(live: JsonObject, wanted: JsonObject): boolean {
  const entries = at(live, "metadata", "managedFields");
  if (!Array.isArray(entries)) return false;
  return entries.some((entry) =>
    at(entry, "manager") === FIELD_MANAGER && at(entry, "operation") === "Apply" &&
    namesMore(at(entry, "fieldsV1"), wanted)
  );
}

/** `f:<key>` is a field of a map; `k:` and `v:` are items of lists, which count as a whole. */
function namesMore(fields: JsonValue | undefined, wanted: JsonValue | undefined): boolean {
  if (!isJsonObject(fields)) return false;
  return Object.entries(fields).some(([name, inner]) => {
    if (!name.startsWith("f:")) return false;
    const key = name.slice(2);
    if (!isJsonObject(wanted) || !Object.hasOwn(wanted, key)) return true;
    return isJsonObject(wanted[key]) && namesMore(inner, wanted[key]);
  });
}
