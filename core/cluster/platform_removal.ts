import type { JsonObject } from "../json.ts";
import type { AddonPlan } from "./addon_plan.ts";
import { ADDON_LABEL, MANAGED_LABEL, REMOVAL_ANNOTATION } from "./allowed_object.ts";
import { differs } from "./differs.ts";
import { at, condition, isDeleting, type LiveObject, type LiveView } from "./live.ts";

/** The Platform says by these conditions how far its removal is. */
const REMOVED = "Removed";
const REFUSED = "RemovalRefused";

/**
 * The Platform's removal in two steps (operations.md, Add-ons): while a SaaSApplication exists nothing
 * changes; then a Platform that installs nothing is applied, and nothing goes before its status says that
 * everything is removed. The Platform goes before the rest, because what runs it is among the rest. Null
 * once the Platform is gone, and with it every reason to wait.
 */
export function planPlatformRemoval(
  name: string,
  objects: readonly LiveObject[],
  { applications, applicationsUnread }: LiveView,
): AddonPlan | null {
  const keep = { name, after: [], apply: [], prune: [], remove: [] };
  if (applications.length > 0) {
    const named = [...applications].sort().join(", ");
    return { ...keep, state: "failed", message: `still used by ${named}; delete them first` };
  }
  if (applicationsUnread !== null) {
    return { ...keep, state: "pending", message: applicationsUnread };
  }
  const platform = objects.find(({ ref }) => ref.resource === "platforms");
  if (platform === undefined) return null;
  if (isDeleting(platform.object)) {
    return { ...keep, state: "pending", message: "waits for the Platform's own finalizers" };
  }

  const refused = condition(platform.object, REFUSED);
  if (refused?.status === "True") {
    const message = refused.message || "the Platform refuses its removal and does not say why";
    return { ...keep, state: "failed", message };
  }
  const nothing = installsNothing(platform);
  if (differs(platform.object, nothing)) {
    return {
      ...keep,
      state: "pending",
      message: "a Platform that installs nothing is applied first",
      apply: [{ ref: platform.ref, object: nothing, why: "differs", live: platform.object }],
    };
  }
  const isRemoved = condition(platform.object, REMOVED)?.status === "True" &&
    isObserved(platform.object);
  return isRemoved
    ? { ...keep, state: "pending", message: "the Platform itself goes", remove: [platform] }
    : { ...keep, state: "pending", message: "waits until the Platform has removed everything" };
}

/** Everything that its template asked for is let go of; what others set in it is theirs. */
function installsNothing({ ref, object }: LiveObject): JsonObject {
  return {
    apiVersion: ref.apiVersion,
    kind: "Platform",
    metadata: {
      name: ref.name,
      annotations: { [REMOVAL_ANNOTATION]: "platform" },
      labels: {
        [MANAGED_LABEL]: "true",
        [ADDON_LABEL]: at(object, "metadata", "labels", ADDON_LABEL) ?? "",
      },
    },
    spec: {},
  };
}

/** Whether what the status says is about the Platform that installs nothing, where it says which. */
function isObserved(platform: JsonObject): boolean {
  const observed = at(platform, "status", "observedGeneration");
  return observed === undefined || observed === at(platform, "metadata", "generation");
}
