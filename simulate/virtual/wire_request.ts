import type { WireRequest } from "../../adapters/portal/http/message.ts";
import type { HttpRequest } from "../../core/ports/http.ts";

/** An agent's request as it would come over the wire; `version` is the agent's. */
export function wireRequest(
  request: HttpRequest,
  version: string,
): WireRequest & { readonly body: Uint8Array } {
  const target = request.url.slice(request.url.indexOf("/", "https://".length));
  const headers = new Map<string, string>([["user-agent", `pbx-agent/${version}`]]);
  for (const name of Object.keys(request.headers)) {
    headers.set(name.toLowerCase(), request.headers[name] ?? "");
  }
  return { method: request.method, target, headers, body: request.body ?? NO_BODY };
}

const NO_BODY = new Uint8Array(0);
