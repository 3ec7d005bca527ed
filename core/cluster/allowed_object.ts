import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { ObjectRef } from "../ports/k8s.ts";
import { fail, ok, type Result } from "../result.ts";

/** The field manager's label on every object that the agent keeps. */
export const MANAGED_LABEL = "pbx.io/managed";
/** The label that says whose an add-on's object is. */
export const ADDON_LABEL = "pbx.io/addon";

/** The namespace of everything that an add-on may have but the Platform. */
export const ADDON_NAMESPACE = "kube-system";

/** What a template may make beside the add-on's own Secret (operations.md, Add-ons). */
const HELM_KINDS: Readonly<Record<string, string>> = {
  HelmChart: "helmcharts",
  HelmChartConfig: "helmchartconfigs",
};
const HELM_API = "helm.cattle.io/v1";

/** Where the PaaSbox Platform's kinds are defined. */
export const PLATFORM_API = /^platform\.paasbox\.io\/v[0-9][a-z0-9]*$/;

/** A rendered object that may be applied, and its name in the API. */
export interface AllowedObject {
  readonly ref: ObjectRef;
  readonly object: JsonObject;
}

/** Whose object is judged. */
export interface Owner {
  readonly addon: string;
  readonly clusterId: string;
  /** The add-on is the PaaSbox Platform, which may have one object more. */
  readonly isPlatform: boolean;
}

/** A chart that failed is left as it is, and the failure is seen: k3s's own defaults hide it. */
const HELM_CHART_DEFAULTS = { failurePolicy: "abort", backOffLimit: 3 };

const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9-]{0,251}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/**
 * Judges one rendered object: a kind that is allowed, in its place, by a name that is one; with the
 * agent's labels and the defaults of a HelmChart. Anything else fails the add-on.
 */
export function allowObject(value: JsonValue, owner: Owner): Result<AllowedObject, string> {
  if (!isJsonObject(value)) return fail("the template made something that is no object");
  const { apiVersion, kind } = value;
  const metadata = value["metadata"];
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    return fail("the template made an object without apiVersion or kind");
  }
  if (
    !isJsonObject(metadata) || typeof name !== "string" || !OBJECT_NAME.test(name) ||
    name.length > 253
  ) {
    return fail(`the template made a ${kind.slice(0, 63)} without a proper name`);
  }
  const resource = apiVersion === HELM_API && Object.hasOwn(HELM_KINDS, kind)
    ? HELM_KINDS[kind]
    : undefined;
  if (resource !== undefined) {
    const namespace = metadata["namespace"] ?? ADDON_NAMESPACE;
    if (namespace !== ADDON_NAMESPACE) return fail(`${kind} ${name} is not in ${ADDON_NAMESPACE}`);
    const ref = { apiVersion, resource, namespace: ADDON_NAMESPACE, name };
    return ok({ ref, object: withSpec(labelled(value, metadata, owner.addon, ref), kind) });
  }
  if (owner.isPlatform && kind === "Platform" && PLATFORM_API.test(apiVersion)) {
    if (name !== owner.clusterId) return fail(`the Platform must be named ${owner.clusterId}`);
    if (metadata["namespace"] !== undefined) return fail("the Platform is in no namespace");
    const ref = { apiVersion, resource: "platforms", name };
    return ok({ ref, object: labelled(value, metadata, owner.addon, ref) });
  }
  return fail(
    `the template made a ${kind.slice(0, 63)} (${apiVersion.slice(0, 63)}), which no add-on may`,
  );
}

/** Only what is wanted of the metadata: finalizers, owners and the like are nobody's to template. */
function labelled(
  value: JsonObject,
  metadata: JsonObject,
  addon: string,
  { name, namespace }: ObjectRef,
): JsonObject {
  const { status: _status, ...object } = value;
  return {
    ...object,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(isJsonObject(metadata["annotations"]) ? { annotations: metadata["annotations"] } : {}),
      labels: {
        ...(isJsonObject(metadata["labels"]) ? metadata["labels"] : {}),
        [MANAGED_LABEL]: "true",
        [ADDON_LABEL]: addon,
      },
    },
  };
}

function withSpec(object: JsonObject, kind: string): JsonObject {
  if (kind !== "HelmChart") return object;
  const spec = object["spec"];
  return { ...object, spec: { ...HELM_CHART_DEFAULTS, ...(isJsonObject(spec) ? spec : {}) } };
}
