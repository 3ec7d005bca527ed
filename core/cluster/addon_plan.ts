import type { JsonObject } from "../json.ts";
import type { AddonReport } from "../protocol/sync.ts";
import type { AllowedObject } from "./allowed_object.ts";
import type { LiveObject } from "./live.ts";

/** An object to apply, and why. */
export interface PlannedApply extends AllowedObject {
  readonly why: "missing" | "differs" | "again";
  /** The object as it is; null where there is none. */
  readonly live: JsonObject | null;
}

/** What is to be done about one add-on, and what is said of it. */
export interface AddonPlan {
  readonly name: string;
  readonly state: AddonReport["state"];
  readonly message?: string;
  /** Add-ons that have to be applied before anything of this one may be. */
  readonly after: readonly string[];
  /** In this order. */
  readonly apply: readonly PlannedApply[];
  /** What its template no longer has: only after everything of it was applied. */
  readonly prune: readonly LiveObject[];
  /** What goes because it is switched off. */
  readonly remove: readonly LiveObject[];
}
