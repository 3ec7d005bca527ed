import { encodeBase64 } from "../../core/protocol/base64.ts";
import type { JsonValue } from "../../core/json.ts";
import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import { clusterOf } from "./state.ts";
import { plainSecrets } from "./seal_document.ts";

const UTF8 = new TextDecoder();

/** Shorter texts turn up by chance. */
const SHORTEST = 8;

/** Whether a body holds one of the cluster's secrets in clear or in base64 (protocol §2: it must not). */
export function leaksSecret(portal: Portal, clusterId: string, body: Uint8Array): boolean {
  const { bootstrap, desired } = clusterOf(portal.state, clusterId);
  const lookup = lookupIn(portal);
  const text = UTF8.decode(body);
  const isToldOf = (document: JsonValue) =>
    lookup.of(document, "secrets", () => secretForms(document)).some((form) => text.includes(form));
  return isToldOf(bootstrap) || isToldOf(desired.document) ||
    lookup.operationsOf(clusterId).some(({ offer }) => isToldOf(offer));
}

/** Every form in which a secret of the document could stand in a body. */
function secretForms(document: JsonValue): readonly string[] {
  return plainSecrets(document).filter(({ length }) => length >= SHORTEST).flatMap(formsOf);
}

/** As JSON writes it, and as base64 without the end, which depends on what follows. */
function formsOf(secret: string): string[] {
  const base64 = encodeBase64(new TextEncoder().encode(secret));
  return [JSON.stringify(secret).slice(1, -1), base64.slice(0, Math.floor(secret.length / 3) * 4)];
}
