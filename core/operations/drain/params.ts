import * as z from "zod";
import { DnsLabel } from "../../protocol/identifiers.ts";

/** Which Node, how long its Pods have to go, and whether those with an emptyDir may lose it. */
export const DrainParams = z.strictObject({
  node: DnsLabel,
  timeout_s: z.int().min(1).max(86_400).default(600),
  delete_emptydir: z.boolean().default(false),
}).transform(({ node, timeout_s, delete_emptydir }) => ({
  node,
  timeoutMs: timeout_s * 1000,
  deleteEmptyDir: delete_emptydir,
}));
export type DrainParams = z.infer<typeof DrainParams>;
