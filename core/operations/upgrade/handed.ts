import * as z from "zod";
import type { JsonObject } from "../../json.ts";
import { Artifact } from "../../protocol/release.ts";

/** What the preflight hands to every step after it: the names, and what the signed manifest says. */
export const Plan = z.object({
  /** The releases, as they are named. */
  from: z.string(),
  to: z.string(),
  /** Their boot entries: the mapping of names is kept here. */
  from_entry: z.string(),
  boot_entry: z.string(),
  image: Artifact,
  /** The version of k3s in the new image. */
  k3s_version: z.string(),
});
export type Plan = z.infer<typeof Plan>;

/** Reads the plan from what was handed on. Throws where the preflight did not run. */
export function planOf(handed: JsonObject): Plan {
  return Plan.parse(handed["plan"]);
}

/** The plan as the preflight hands it on. */
export function handPlan(plan: Plan): JsonObject {
  return { plan: JSON.parse(JSON.stringify(plan)) };
}
