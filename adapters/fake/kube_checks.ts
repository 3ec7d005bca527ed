import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { decodeBase64 } from "../../core/protocol/base64.ts";
import type { Kind } from "./kube_kinds.ts";
import { type ApiAnswer, failure } from "./kube_status.ts";

const NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;
const METADATA_FIELDS = [
  "annotations",
  "creationTimestamp",
  "deletionTimestamp",
  "finalizers",
  "generateName",
  "generation",
  "labels",
  "managedFields",
  "name",
  "namespace",
  "ownerReferences",
  "resourceVersion",
  "selfLink",
  "uid",
];

/** Where an object was sent. */
export interface Place {
  readonly kind: Kind;
  readonly namespace: string | null;
  readonly name: string;
}

/** What the API says of an object before it looks at what is stored; null where all is well. */
export function refusedEarly(object: JsonObject, place: Place): ApiAnswer | null {
  const { kind, namespace, name } = place;
  if (object["apiVersion"] !== kind.apiVersion || object["kind"] !== kind.kind) {
    const group = `${object["apiVersion"] ?? ""}`;
    const sent = `${group.includes("/") ? group : `/${group}`}, Kind=${object["kind"] ?? ""}`;
    return bad(`invalid object type: ${sent}`);
  }
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  if (metadata["name"] === undefined) {
    return bad(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (metadata["name"] !== name) {
    return bad(
      `the name of the object (${metadata["name"]}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata["namespace"] !== undefined && metadata["namespace"] !== namespace) {
    return bad(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
  if (!NAME.test(name)) {
    return failure(
      422,
      "Invalid",
      `${kind.kind} "${name}" is invalid: metadata.name: Invalid value: "${name}": a lowercase ` +
        "RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
    );
  }
  return null;
}

/**
 * What is wrong with the fields of an object, in the API's words; null where nothing is. An apply with
 * such a fault is answered with 500, though no repetition would ever help; a create with 400.
 */
export function fieldFault(object: JsonObject, kind: Kind): string | null {
  if (kind.fields === null) return null;
  const known = ["apiVersion", "kind", "metadata", ...kind.fields];
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const unknown = Object.keys(object).find((key) => !known.includes(key));
  if (unknown !== undefined) return `.${unknown}: field not declared in schema`;
  const odd = Object.keys(metadata).find((key) => !METADATA_FIELDS.includes(key));
  if (odd !== undefined) return `.metadata.${odd}: field not declared in schema`;
  if (kind.kind === "Secret") return secretFault(object);
  if (kind.kind === "Lease") return leaseFault(object);
  return null;
}

function secretFault(object: JsonObject): string | null {
  for (const [key, value] of entries(object["data"])) {
    if (typeof value !== "string") return `.data.${key}: expected string`;
    if (decodeBase64(value) === null) return "error decoding from json: illegal base64 data";
  }
  return null;
}

function leaseFault(object: JsonObject): string | null {
  for (const [key, value] of entries(object["spec"])) {
    const isTime = key === "acquireTime" || key === "renewTime";
    if (isTime && !MICRO_TIME.test(String(value))) return `parsing time "${value}": cannot parse`;
  }
  return null;
}

function entries(value: JsonValue | undefined): readonly (readonly [string, JsonValue])[] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

function bad(message: string): ApiAnswer {
  return failure(400, "BadRequest", message);
}
