import type { KubeApi } from "./kube_api.ts";

/** One request that the API server has answered. */
export interface AuditEntry {
  readonly verb: string;
  /** Path and query. */
  readonly uri: string;
  readonly code: number;
  /** Milliseconds since the epoch when it was received. */
  readonly at: number;
}

/** What the API server answered one user agent, oldest first. It logs a request just after its answer. */
export async function auditOf(api: KubeApi, userAgent: string): Promise<readonly AuditEntry[]> {
  await new Promise((resolve) => setTimeout(resolve, 500));
  const lines = (await Deno.readTextFile(api.auditLog ?? "")).split("\n");
  return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line))
    .filter((event) => event.userAgent === userAgent)
    .map(({ verb, requestURI, responseStatus, requestReceivedTimestamp }) => ({
      verb,
      uri: requestURI,
      code: responseStatus.code,
      at: Date.parse(requestReceivedTimestamp),
    }));
}

/** Whether an entry is of something that could have changed an object. */
export function isWrite({ verb }: AuditEntry): boolean {
  return !["get", "list", "watch"].includes(verb);
}
