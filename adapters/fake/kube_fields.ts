import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

/** The fields of an object that hold a value, each as the JSON text of its path. Lists count as one. */
export type FieldSet = ReadonlySet<string>;

const NOT_OWNED = ["apiVersion", "kind"];
const NOT_OWNED_METADATA = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
];

/** The fields that whoever sent `object` comes to own. */
export function fieldsOf(object: JsonObject): FieldSet {
  const fields = new Set<string>();
  const walk = (value: JsonValue, path: readonly string[]): void => {
    if (!isJsonObject(value) || Object.keys(value).length === 0) {
      if (path.length > 0) fields.add(JSON.stringify(path));
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      if (path.length === 0 && NOT_OWNED.includes(key)) continue;
      if (path.length === 1 && path[0] === "metadata" && NOT_OWNED_METADATA.includes(key)) continue;
      walk(inner, [...path, key]);
    }
  };
  walk(object, []);
  return fields;
}

/** A set of fields as `managedFields` shows it: `{"f:data": {"f:token": {}}}`. */
export function fieldsV1(fields: FieldSet): JsonObject {
  interface Tree {
    [key: string]: Tree;
  }
  const root: Tree = {};
  for (const field of [...fields].sort()) {
    let here = root;
    for (const key of parsePath(field)) here = here[`f:${key}`] ??= {};
  }
  return root;
}

/** The value of one field; undefined where there is none. */
export function fieldValue(object: JsonObject, field: string): JsonValue | undefined {
  let here: JsonValue | undefined = object;
  for (const key of parsePath(field)) here = isJsonObject(here) ? here[key] : undefined;
  return here;
}

/** `.data.token`, as messages name a field. */
export function fieldName(field: string): string {
  return `.${parsePath(field).join(".")}`;
}

/** The object without one field, and without parents that are empty then. */
export function withoutField(object: JsonObject, field: string): JsonObject {
  return without(object, parsePath(field));
}

/** `over` laid over `base`: maps key by key, all else replaced. */
export function merged(base: JsonObject, over: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = result[key];
    result[key] = isJsonObject(value) && isJsonObject(old) ? merged(old, value) : value;
  }
  return result;
}

function without(object: JsonObject, path: readonly string[]): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined || !Object.hasOwn(object, key)) return object;
  const { [key]: inner, ...others } = object;
  if (rest.length === 0 || !isJsonObject(inner)) return others;
  const kept = without(inner, rest);
  return Object.keys(kept).length === 0 ? others : { ...others, [key]: kept };
}

function parsePath(field: string): readonly string[] {
  return JSON.parse(field);
}
