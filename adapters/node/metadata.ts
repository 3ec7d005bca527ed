import type { Http } from "../../core/ports/http.ts";
import type { Metadata } from "../../core/ports/metadata.ts";
import { ServerId } from "../../core/protocol/identifiers.ts";
import { fail, ok } from "../../core/result.ts";

const HETZNER = "http://169.254.169.254";
const BASE_PATH = "/hetzner/v1/metadata";

/** Limit of one request where none is given, connecting included, milliseconds. */
const TIMEOUT_MS = 5_000;

/** An instance ID is a dozen digits; a longer answer is somebody else's. */
const MAX_BYTES = 1_024;

/**
 * The metadata service of the Hetzner cloud (operations, First start).
 *
 * @param options.timeoutMs limit of one request, connecting included, milliseconds
 * @param options.url another service (`metadata_url`): its origin, or its whole base path
 */
export function createNodeMetadata(
  options: { readonly http: Http; readonly url?: string; readonly timeoutMs?: number },
): Metadata {
  const url = `${metadataBase(options.url ?? HETZNER)}/instance-id`;
  const { timeoutMs = TIMEOUT_MS } = options;
  return {
    async instanceId() {
      const answer = await options.http.request({
        method: "GET",
        url,
        headers: {},
        totalMs: timeoutMs,
        connectMs: timeoutMs,
        maxBytes: MAX_BYTES,
      });
      if (!answer.ok) return answer;
      const { status, body } = answer.value;
      if (status !== 200) return malformed(`answered ${status}, not 200`);
      const id = ServerId.safeParse(new TextDecoder().decode(body).trim());
      return id.success ? ok(id.data) : malformed("answered something that is no server ID");
    },
  };

  function malformed(what: string) {
    return fail({ code: "malformed" as const, message: `${new URL(url).origin}: ${what}` });
  }
}

function metadataBase(text: string): string {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, "");
  return url.origin + (path === "" ? BASE_PATH : path);
}
