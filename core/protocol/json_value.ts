import * as z from "zod";
import type { JsonObject, JsonValue } from "../json.ts";

/** Any JSON value, as a schema of the core's own type. */
export const Json: z.ZodType<JsonValue> = z.json();

/** Any JSON object, as a schema of the core's own type. */
export const JsonMap: z.ZodType<JsonObject> = z.record(z.string(), z.json());
