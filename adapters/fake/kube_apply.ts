import { isJsonObject, type JsonObject } from "../../core/json.ts";
import {
  fieldName,
  type FieldSet,
  fieldsOf,
  fieldsV1,
  fieldValue,
  merged,
  withoutField,
} from "./kube_fields.ts";
import { type ApiAnswer, failure } from "./kube_status.ts";

/** An object in the API's store, and who owns which of its fields. */
export interface Stored {
  /** Without `managedFields`. */
  readonly object: JsonObject;
  readonly owners: ReadonlyMap<string, Owner>;
}

/** A field manager's share of an object. */
export interface Owner {
  readonly operation: "Apply" | "Update";
  readonly fields: FieldSet;
  /** RFC 3339, whole seconds. */
  readonly time: string;
}

/** What a server-side apply asks for. */
export interface Apply {
  readonly config: JsonObject;
  readonly manager: string;
  readonly force: boolean;
  /** RFC 3339, whole seconds. */
  readonly time: string;
}

/**
 * Server-side apply: the manager comes to own what it sends, fields that it owned alone and no longer
 * sends go, everything else stays. Against the real one it is simple: every list counts as one value.
 * An answer is a refusal; the very same `stored` means that nothing changed.
 */
export function applied(stored: Stored, apply: Apply): Stored | ApiAnswer {
  const { config, manager, force, time } = apply;
  const wanted = fieldsOf(config);
  const others = [...stored.owners].filter(([name]) => name !== manager);
  const conflicts = others.flatMap(([name, owner]) =>
    [...owner.fields]
      .filter((field) => wanted.has(field) && differs(stored.object, config, field))
      .map((field) => ({ name, field }))
  );
  if (conflicts.length > 0 && !force) {
    const all = conflicts.map(({ name, field }) => `conflict with "${name}": ${fieldName(field)}`);
    const plural = all.length === 1 ? "" : "s";
    const message = `Apply failed with ${all.length} conflict${plural}: ${all.join(", ")}`;
    return failure(409, "Conflict", message);
  }

  const lost = new Set(conflicts.map(({ field }) => field));
  const owners = new Map<string, Owner>();
  for (const [name, owner] of others) {
    const fields = new Set([...owner.fields].filter((field) => !lost.has(field)));
    if (fields.size > 0) owners.set(name, { ...owner, fields });
  }
  const before = stored.owners.get(manager);
  let object = stored.object;
  for (const field of before?.fields ?? []) {
    const shared = [...owners.values()].some((owner) => owner.fields.has(field));
    if (!wanted.has(field) && !shared) object = withoutField(object, field);
  }
  object = merged(object, config);
  for (const field of [...wanted].filter((field) => isEmptied(field, config, before?.fields))) {
    const path: readonly string[] = JSON.parse(field);
    if (path.length === 1) {
      const message = `${path[0]}: Invalid value: "null": must be of type object: "null"`;
      return failure(422, "Invalid", message);
    }
    object = withValue(object, path, null);
  }
  if (wanted.size > 0) owners.set(manager, { operation: "Apply", fields: wanted, time });

  const unchanged = same(object, stored.object) &&
    same(shares(owners), shares(stored.owners));
  return unchanged ? stored : { object, owners };
}

/** The object as the API shows it, `managedFields` included. */
export function shown({ object, owners }: Stored): JsonObject {
  const managedFields = [...owners].map(([manager, owner]) => ({
    manager,
    operation: owner.operation,
    apiVersion: object["apiVersion"] ?? "",
    time: owner.time,
    fieldsType: "FieldsV1",
    fieldsV1: fieldsV1(owner.fields),
  }));
  return merged(object, { metadata: { managedFields } });
}

/** Whether two JSON values are the same, whatever the order of keys. */
export function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** The real one makes null of a map that is sent empty and whose fields the manager had and lets go. */
function isEmptied(field: string, config: JsonObject, owned: FieldSet = new Set()): boolean {
  const value = fieldValue(config, field);
  if (!isJsonObject(value)) return false;
  const above = `${field.slice(0, -1)},`;
  return [...owned].some((other) => other.startsWith(above));
}

function withValue(
  object: JsonObject,
  [key = "", ...rest]: readonly string[],
  value: null,
): JsonObject {
  const inner = object[key];
  if (rest.length === 0) return { ...object, [key]: value };
  return { ...object, [key]: withValue(isJsonObject(inner) ? inner : {}, rest, value) };
}

function differs(live: JsonObject, config: JsonObject, field: string): boolean {
  return !same(fieldValue(live, field), fieldValue(config, field));
}

function shares(owners: ReadonlyMap<string, Owner>): unknown {
  return Object.fromEntries([...owners].map(([name, owner]) => [name, [...owner.fields].sort()]));
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1));
  }) ?? "";
}
