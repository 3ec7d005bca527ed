import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ObjectRef } from "../ports/k8s.ts";
import { fail, ok, type Result } from "../result.ts";
import { escapedForYaml } from "../yaml_text.ts";

/** The field manager's label on every object that the agent keeps. */
export const MANAGED_LABEL = "pbx.io/managed";
/** The label that says whose an add-on's object is. */
export const ADDON_LABEL = "pbx.io/addon";
/** Says on the Platform's objects that they go in two steps, even where no template tells any more. */
export const REMOVAL_ANNOTATION = "pbx.io/removal";

/** The namespace of everything that an add-on may have but the Platform. */
export const ADDON_NAMESPACE = "kube-system";

/** Where k3s's helm-controller defines its kinds. */
export const HELM_API = "helm.cattle.io/v1";

/** What a template may make beside the add-on's own Secret (operations.md, Add-ons). */
const HELM_KINDS: Readonly<Record<string, string>> = {
  HelmChart: "helmcharts",
  HelmChartConfig: "helmchartconfigs",
};

/** A rendered object that may be applied, and its name in the API. */
export interface AllowedObject {
  readonly ref: ObjectRef;
  readonly object: JsonObject;
}

/** Whose object is judged. */
export interface Owner {
  readonly addon: string;
  readonly clusterId: string;
  /** apiVersion of the Platform, for the add-on that is the PaaSbox Platform; null for any other. */
  readonly platformApi: string | null;
}

/** A chart that failed is left as it is, and the failure is seen: k3s's own defaults hide it. */
const HELM_CHART_DEFAULTS = { failurePolicy: "abort", backOffLimit: 3 };

const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const MAX_NAME = 253;

/**
 * Judges one rendered object: a kind that is allowed, in its place, by a name that is one; with the
 * agent's labels and the defaults of a HelmChart. Anything else fails the add-on.
 */
export function allowObject(value: JsonValue, owner: Owner): Result<AllowedObject, string> {
  if (!isJsonObject(value)) return fail("the template made something that is no object");
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    return fail("the template made an object without apiVersion or kind");
  }
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (
    !isJsonObject(metadata) || typeof name !== "string" || name.length > MAX_NAME ||
    !OBJECT_NAME.test(name)
  ) {
    return fail(`the template made a ${short(kind)} without a proper name`);
  }
  if (apiVersion === HELM_API && Object.hasOwn(HELM_KINDS, kind)) {
    const namespace = metadata["namespace"] ?? ADDON_NAMESPACE;
    if (namespace !== ADDON_NAMESPACE) return fail(`${kind} ${name} is not in ${ADDON_NAMESPACE}`);
    const resource = HELM_KINDS[kind] ?? "";
    const ref = { apiVersion, resource, namespace: ADDON_NAMESPACE, name };
    return ok({
      ref,
      object: withExactValues(withDefaults(labelled(value, metadata, owner, ref), kind)),
    });
  }
  if (kind === "Platform" && apiVersion === owner.platformApi) {
    if (name !== owner.clusterId) return fail(`the Platform must be named ${owner.clusterId}`);
    if (metadata["namespace"] !== undefined) return fail("the Platform is in no namespace");
    const ref = { apiVersion, resource: "platforms", name };
    return ok({ ref, object: labelled(value, metadata, owner, ref) });
  }
  return fail(`the template made a ${short(kind)} (${short(apiVersion)}), which no add-on may`);
}

function short(text: string): string {
  return text.slice(0, 63);
}

/** Only what is wanted of the metadata: finalizers, owners and the like are nobody's to template. */
function labelled(
  value: JsonObject,
  metadata: JsonObject,
  { addon, platformApi }: Owner,
  { name, namespace }: ObjectRef,
): JsonObject {
  const { status: _status, ...object } = value;
  const annotations = {
    ...(isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {}),
    ...(platformApi === null ? {} : { [REMOVAL_ANNOTATION]: "platform" }),
  };
  return {
    ...object,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      labels: {
        ...(isJsonObject(metadata["labels"]) ? metadata["labels"] : {}),
        [MANAGED_LABEL]: "true",
        [ADDON_LABEL]: addon,
      },
    },
  };
}

function withDefaults(object: JsonObject, kind: string): JsonObject {
  if (kind !== "HelmChart") return object;
  const spec = object["spec"];
  return { ...object, spec: { ...HELM_CHART_DEFAULTS, ...(isJsonObject(spec) ? spec : {}) } };
}

/**
 * The object with values that Helm reads as they are. Helm reads them as YAML 1.1, where a template that
 * made them by `$json` has JSON, in which an option may hold what is a line break to YAML.
 */
function withExactValues(object: JsonObject): JsonObject {
  const spec = object["spec"];
  const values = isJsonObject(spec) ? spec["valuesContent"] : undefined;
  if (!isJsonObject(spec) || typeof values !== "string" || !isJson(values)) return object;
  return { ...object, spec: { ...spec, valuesContent: escapedForYaml(values) } };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
