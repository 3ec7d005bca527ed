import { encodeBase64 } from "../../core/protocol/base64.ts";
import type { Portal } from "./portal.ts";
import { clusterOf } from "./state.ts";
import { plainSecrets } from "./seal_document.ts";

/** Shorter texts turn up by chance. */
const SHORTEST = 8;

/** Whether a body holds one of the cluster's secrets in clear or in base64 (protocol §2: it must not). */
export function leaksSecret(portal: Portal, clusterId: string, body: Uint8Array): boolean {
  const cluster = clusterOf(portal.state, clusterId);
  const offers = portal.state.operations
    .filter((operation) => operation.clusterId === clusterId)
    .map((operation) => operation.offer);
  const text = new TextDecoder().decode(body);
  return plainSecrets([cluster.bootstrap, cluster.desired.document, ...offers])
    .filter((secret) => secret.length >= SHORTEST)
    .some((secret) => formsOf(secret).some((form) => text.includes(form)));
}

/** As JSON writes it, and as base64 without the end, which depends on what follows. */
function formsOf(secret: string): string[] {
  const base64 = encodeBase64(new TextEncoder().encode(secret));
  return [JSON.stringify(secret).slice(1, -1), base64.slice(0, Math.floor(secret.length / 3) * 4)];
}
