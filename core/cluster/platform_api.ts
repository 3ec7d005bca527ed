import { isJsonObject, type JsonValue } from "../json.ts";
import type { AddonTemplate } from "../protocol/release.ts";

/** A group of its own: neither the core's (which has none) nor one of Kubernetes itself or of k3s. */
const CUSTOM_GROUP = /^(?!(?:[a-z0-9-]+\.)*(?:k8s\.io|cattle\.io)\/)[a-z0-9-]+(?:\.[a-z0-9-]+)+\//;
const VERSION = /\/v[0-9]+(?:(?:alpha|beta)[0-9]+)?$/;

/**
 * The apiVersion of the Platform that an add-on's template makes; null where the add-on is not the
 * Platform's or names none. It has to stand in the template as it is, so that the Platform can be found
 * in the cluster without the template being rendered: an add-on that is switched off has no options.
 */
export function platformApiOf(template: AddonTemplate | null): string | null {
  return template?.removal === "platform" ? find(template.objects as JsonValue) : null;
}

function find(value: JsonValue): string | null {
  if (typeof value !== "object" || value === null) return null;
  if (isJsonObject(value)) {
    const { apiVersion, kind } = value;
    const isPlatform = kind === "Platform" && typeof apiVersion === "string" &&
      CUSTOM_GROUP.test(apiVersion) && VERSION.test(apiVersion);
    if (isPlatform) return apiVersion;
  }
  for (const inner of Object.values(value)) {
    const found = find(inner as JsonValue);
    if (found !== null) return found;
  }
  return null;
}
