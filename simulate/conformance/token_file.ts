import * as z from "zod";
import { DnsLabel, ServerId, Sha256Hex } from "../../core/protocol/identifiers.ts";
import { describeIssue } from "../../core/protocol/schema_error.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { Secret } from "../../core/secret.ts";
import type { TokenEntry } from "./token_entry.ts";

const Line = z.strictObject({
  token: z.string().min(1),
  cluster_id: DnsLabel,
  node_name: DnsLabel,
  server_id: ServerId,
  /** It has expired: to see how that is answered. */
  expired: z.boolean().optional(),
  /** The boot image that the portal expects of this node. */
  boot_image_sha256: Sha256Hex.optional(),
  /** The k3s token that is pinned on this node. */
  k3s_token_sha256: Sha256Hex.optional(),
});

/** Reads tokens, a line of JSON each. The error names the line and shows nothing of it. */
export function parseTokenFile(text: string): Result<readonly TokenEntry[], string> {
  const entries: TokenEntry[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = Line.safeParse(jsonOf(line));
    if (!parsed.success) return fail(`line ${index + 1}: ${describeIssue(parsed.error)}`);
    const { token, cluster_id, node_name, server_id, expired } = parsed.data;
    entries.push({
      token: new Secret(token),
      clusterId: cluster_id,
      nodeName: node_name,
      serverId: server_id,
      expired: expired ?? false,
      imageSha256: parsed.data.boot_image_sha256 ?? null,
      k3sTokenSha256: parsed.data.k3s_token_sha256 ?? null,
    });
  }
  return ok(entries);
}

/** Null, which is no object, where the line is no JSON. */
function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
