import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";

/**
 * Whether a live object lacks something of what is wanted. Fields that nobody wanted stay whoever set
 * them; lists count as a whole.
 */
export function differs(live: JsonObject | null, wanted: JsonObject): boolean {
  return live === null || !holds(live, wanted);
}

function holds(live: JsonValue | undefined, wanted: JsonValue): boolean {
  if (isJsonObject(wanted)) {
    // An empty object that was never stored is the same as none.
    if (live === undefined) return Object.keys(wanted).length === 0;
    return isJsonObject(live) &&
      Object.entries(wanted).every(([key, value]) =>
        holds(Object.hasOwn(live, key) ? live[key] : undefined, value as JsonValue)
      );
  }
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length &&
      wanted.every((item, index) => holds(live[index], item) && holds(item, live[index] ?? null));
  }
  return live === wanted;
}
