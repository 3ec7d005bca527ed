import type { JsonObject } from "../json.ts";
import { differs } from "./differs.ts";
import { at, condition, isDeleting, type LiveObject, type LiveView } from "./live.ts";
import type { AddonPlan } from "./addon_plan.ts";

/** The Platform says by these conditions how far its removal is. */
const REMOVED = "Removed";
const REFUSED = "RemovalRefused";

/**
 * The first step of the Platform's removal (operations.md, Add-ons): a Platform that installs nothing is
 * applied, and nothing goes before its status says that everything is removed. Null once that is so.
 */
export function planPlatformRemoval(
  name: string,
  objects: readonly LiveObject[],
  live: LiveView,
): AddonPlan | null {
  const keep = { name, apply: [], prune: [], remove: [] };
  const applications = live.applications ?? [];
  if (applications.length > 0) {
    const named = [...applications].sort().join(", ");
    return { ...keep, state: "failed", message: `still used by ${named}; delete them first` };
  }
  const platform = objects.find(({ ref }) => ref.resource === "platforms");
  if (platform === undefined || isDeleting(platform.object)) return null;

  const refused = condition(platform.object, REFUSED);
  if (refused?.status === "True") {
    return {
      ...keep,
      state: "failed",
      message: refused.message || "the Platform refuses its removal",
    };
  }
  const empty = emptied(platform.object);
  if (isEmptied(platform.object)) {
    if (condition(platform.object, REMOVED)?.status === "True") return null;
    return {
      ...keep,
      state: "pending",
      message: "waits until the Platform has removed everything",
    };
  }
  const why = differs(platform.object, empty) ? "differs" as const : "again" as const;
  return {
    ...keep,
    state: "pending",
    message: "a Platform that installs nothing is applied first",
    apply: [{ ref: platform.ref, object: empty, why }],
  };
}

/** The Platform that installs nothing: everything that its template asked for is let go of. */
function emptied(platform: JsonObject): JsonObject {
  const { apiVersion, kind } = platform;
  return {
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    metadata: {
      name: at(platform, "metadata", "name") ?? "",
      labels: at(platform, "metadata", "labels") ?? {},
    },
    spec: {},
  };
}

function isEmptied(platform: JsonObject): boolean {
  const spec = at(platform, "spec");
  return spec === undefined || JSON.stringify(spec) === "{}";
}
