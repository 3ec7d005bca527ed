import * as z from "zod";
import type { JsonObject } from "../../json.ts";
import { DatabaseFacts } from "./database.ts";
import { Origin } from "./origin.ts";

const Stopped = z.object({
  snapshot: z.string(),
  /** Bytes of the snapshot as it is kept. */
  size: z.number(),
  /** Where it is on the node, plain and whole. */
  staged: z.string(),
  plain_size: z.number(),
  /** What the node showed before the reset. */
  before: DatabaseFacts,
  /** What it showed when k3s last ran: the same, unless a restore before this one failed. */
  origin: Origin,
});
/** What stop_k3s hands on to the steps after it. */
export type Stopped = z.infer<typeof Stopped>;

/** Reads it from what the steps handed on. */
export function stopped(handed: JsonObject): Stopped {
  return Stopped.parse(handed);
}
