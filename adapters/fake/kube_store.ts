import type { Preconditions } from "../../core/ports/k8s.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { applied, type Apply, shown, type Stored } from "./kube_apply.ts";
import { fieldFault, type Place, refusedEarly } from "./kube_checks.ts";
import { fieldsOf, merged } from "./kube_fields.ts";
import { builtInKinds, definesKinds, type Kind, kindsOf } from "./kube_kinds.ts";
import { type ApiAnswer, failure, notFound, unknownPath, unknownResource } from "./kube_status.ts";

/** The objects of a cluster, and what may be done to them. */
export interface KubeStore {
  /** The kind that a path names, or what the API says where there is none. */
  kindAt(apiVersion: string, resource: string, namespaced: boolean): Kind | ApiAnswer;
  get(place: Place): ApiAnswer;
  list(kind: Kind, namespace: string | null): ApiAnswer;
  apply(place: Place, apply: Omit<Apply, "time">): ApiAnswer;
  create(place: Place, object: JsonObject, manager: string): ApiAnswer;
  /**
   * @param only what it has to be like to go
   * @param graceful it stays, as one that is being deleted, until somebody removes it for good
   */
  remove(place: Place, only: Partial<Preconditions>, graceful?: boolean): ApiAnswer;
}

/**
 * @param now milliseconds since the epoch; gives the times in metadata
 * @param cluster which cluster it is: objects of two clusters never have one UID
 */
export function createKubeStore(now: () => number, cluster = 0): KubeStore {
  const objects = new Map<string, Stored>();
  let revision = 0;
  let made = 0;

  const kinds = (): readonly Kind[] => [
    ...builtInKinds(),
    ...[...objects.values()].map(({ object }) => object)
      .filter((object) => object["kind"] === "CustomResourceDefinition").flatMap(kindsOf),
  ];
  const time = (): string => new Date(now()).toISOString().replace(/\.\d+Z$/, "Z");
  const save = (place: Place, { object, owners }: Stored): Stored => {
    const resourceVersion = String(++revision);
    const saved = { object: merged(object, { metadata: { resourceVersion } }), owners };
    objects.set(keyOf(place), saved);
    return saved;
  };

  function fresh({ kind, namespace, name }: Place): Stored {
    const metadata = {
      name,
      ...(namespace === null ? {} : { namespace }),
      uid: uuid(++made, cluster),
      creationTimestamp: time(),
    };
    const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata };
    return { object: withDefaults(object), owners: new Map() };
  }

  function missingNamespace({ namespace }: Place): ApiAnswer | null {
    const there = namespace === null || objects.has(namespaceKey(namespace));
    return there ? null : notFound("namespaces", namespace);
  }

  function apply(place: Place, { config, manager, force }: Omit<Apply, "time">): ApiAnswer {
    const early = refusedEarly(config, place);
    if (early !== null) return early;
    const { uid, resourceVersion, managedFields } = metadataOf(config);
    if (managedFields !== undefined) {
      return failure(400, "BadRequest", "metadata.managedFields must be nil");
    }
    const fault = fieldFault(config, place.kind);
    if (fault !== null) return failure(500, null, `failed to create typed patch object: ${fault}`);
    const existing = objects.get(keyOf(place));
    if (existing !== undefined && uid !== undefined && uid !== metadataOf(existing.object)["uid"]) {
      const message =
        `${place.kind.kind} "${place.name}" is invalid: metadata.uid: Invalid value: ` +
        `"${uid}": field is immutable`;
      return failure(422, "Invalid", message);
    }
    if (uid !== undefined && existing === undefined) {
      const message = `uid mismatch: the provided object specified uid ${uid}`;
      return failure(409, "Conflict", message);
    }
    const isStale = existing !== undefined && resourceVersion !== undefined &&
      resourceVersion !== metadataOf(existing.object)["resourceVersion"];
    if (isStale) {
      const message = `Operation cannot be fulfilled on ${place.kind.fullName} "${place.name}": ` +
        "the object has been modified; please apply your changes to the latest version";
      return failure(409, "Conflict", message);
    }
    const homeless = existing === undefined ? missingNamespace(place) : null;
    if (homeless !== null) return homeless;

    const before = existing ?? fresh(place);
    const sent = withoutServerFields(config);
    const after = applied(before, { config: sent, manager, force, time: time() });
    if ("status" in after) return after;
    if (after === existing) return { status: 200, body: shown(existing) };
    const settled = { ...after, object: withDefaults(after.object) };
    const frozen = existing === undefined ? null : typeChanged(existing, settled, place);
    if (frozen !== null) return frozen;
    const status = existing === undefined ? 201 : 200;
    const saved = save(place, settled);
    if (isDeleting(saved) && !hasFinalizers(saved)) forget(place, saved.object);
    return { status, body: shown(saved) };
  }

  function create(place: Place, object: JsonObject, manager: string): ApiAnswer {
    const early = refusedEarly(object, place) ?? missingNamespace(place);
    if (early !== null) return early;
    const fault = fieldFault(object, place.kind);
    if (fault !== null) return failure(400, "BadRequest", fault);
    if (objects.has(keyOf(place))) {
      const message = `${place.kind.fullName} "${place.name}" already exists`;
      return failure(409, "AlreadyExists", message);
    }
    const full = merged(fresh(place).object, withoutServerFields(object));
    const owner = { operation: "Update", fields: fieldsOf(full), time: time() } as const;
    const saved = save(place, { object: full, owners: new Map([[manager, owner]]) });
    return { status: 201, body: shown(saved) };
  }

  function kindAt(apiVersion: string, resource: string, namespaced: boolean): Kind | ApiAnswer {
    const ofGroup = kinds().filter((kind) => kind.apiVersion === apiVersion);
    const found = ofGroup.find((kind) =>
      kind.resource === resource && kind.namespaced === namespaced
    );
    return found ?? (ofGroup.length === 0 ? unknownPath() : unknownResource());
  }

  return {
    kindAt,
    apply,
    create,
    get: (place) => {
      const found = objects.get(keyOf(place));
      if (found === undefined) return notFound(place.kind.fullName, place.name);
      return { status: 200, body: shown(found) };
    },
    list: (kind, namespace) => {
      const prefix = keyOf({ kind, namespace, name: "" });
      const found = [...objects].filter(([key, { object }]) =>
        namespace === null
          ? object["kind"] === kind.kind && object["apiVersion"] === kind.apiVersion
          : key.startsWith(prefix)
      );
      const metadata = { resourceVersion: String(revision) };
      const { apiVersion, kind: name } = kind;
      const items = found.map(([, stored]) => listed(shown(stored), kind));
      return { status: 200, body: { kind: `${name}List`, apiVersion, metadata, items } };
    },
    remove: (place, only, graceful = false) => {
      const found = objects.get(keyOf(place));
      if (found === undefined) return notFound(place.kind.fullName, place.name);
      for (const [field, wanted] of Object.entries(only)) {
        const actual = metadataOf(found.object)[field];
        if (wanted === actual) continue;
        const message = `Precondition failed: ${field} in precondition: ${wanted}, ` +
          `${field} in object meta: ${actual}`;
        return failure(409, "Conflict", message);
      }
      if (graceful || hasFinalizers(found)) {
        if (isDeleting(found)) return { status: 200, body: shown(found) };
        const metadata = { deletionTimestamp: time() };
        const going = { ...found, object: merged(found.object, { metadata }) };
        return { status: 200, body: shown(save(place, going)) };
      }
      forget(place, found.object);
      return { status: 200, body: { kind: "Status", apiVersion: "v1", status: "Success" } };
    },
  };

  function forget(place: Place, object: JsonObject): void {
    objects.delete(keyOf(place));
    revision++;
    if (definesKinds(place.kind)) removeInstances(object);
  }

  /** With a definition go all objects of the kinds that it defined. */
  function removeInstances(definition: JsonObject): void {
    for (const kind of kindsOf(definition)) {
      for (const [key, { object }] of objects) {
        const isOne = object["kind"] === kind.kind && object["apiVersion"] === kind.apiVersion;
        if (isOne) objects.delete(key);
      }
    }
  }
}

/** As a part of a list: the API leaves out what the list says, but not for kinds of a definition. */
function listed(object: JsonObject, { fields }: Kind): JsonObject {
  if (fields === null) return object;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest;
}

function isDeleting({ object }: Stored): boolean {
  return metadataOf(object)["deletionTimestamp"] !== undefined;
}

function hasFinalizers({ object }: Stored): boolean {
  const { finalizers } = metadataOf(object);
  return Array.isArray(finalizers) && finalizers.length > 0;
}

function keyOf({ kind, namespace, name }: Place): string {
  return `${kind.fullName}/${namespace ?? ""}/${name}`;
}

function namespaceKey(name: string): string {
  return `namespaces//${name}`;
}

function metadataOf(object: JsonObject | undefined): JsonObject {
  const metadata = object?.["metadata"];
  return isJsonObject(metadata) ? metadata : {};
}

function withDefaults(object: JsonObject): JsonObject {
  if (object["kind"] === "Secret" && object["apiVersion"] === "v1") {
    return { type: "Opaque", ...object };
  }
  if (object["kind"] === "Namespace" && object["apiVersion"] === "v1") {
    return { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" }, ...object };
  }
  return object;
}

/** What a client sends of the fields that only the server sets has no effect. */
function withoutServerFields(object: JsonObject): JsonObject {
  const {
    uid: _uid,
    resourceVersion: _resourceVersion,
    creationTimestamp: _creationTimestamp,
    managedFields: _managedFields,
    ...metadata
  } = metadataOf(object);
  return { ...object, metadata };
}

function typeChanged(before: Stored, after: Stored, { kind, name }: Place): ApiAnswer | null {
  const [old, wanted] = [before.object["type"], after.object["type"]];
  if (kind.kind !== "Secret" || old === wanted) return null;
  const message = `Secret "${name}" is invalid: type: Invalid value: "${wanted}": ` +
    "field is immutable";
  return failure(422, "Invalid", message);
}

/** UIDs are counted, so that a simulation gives the same ones each time. */
function uuid(count: number, cluster: number): string {
  const hex = (value: number, length: number) => value.toString(16).padStart(length, "0");
  return `${hex(cluster, 8)}-0000-4000-8000-${hex(count, 12)}`;
}
