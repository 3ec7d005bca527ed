import type { FakeReply } from "../../adapters/fake/http.ts";
import type { JsonValue } from "../../core/json.ts";

/** An answer with a JSON body. */
export function json(status: number, body: JsonValue): FakeReply {
  return raw(status, new TextEncoder().encode(JSON.stringify(body)));
}

/** An answer that says it is JSON, whatever it holds. */
export function raw(status: number, body: Uint8Array): FakeReply {
  return { status, headers: { "content-type": "application/json" }, body };
}
