import type { JsonValue } from "../../../core/json.ts";

/** A request as it came over the wire. */
export interface WireRequest {
  readonly method: string;
  /** The request target as sent, query included; nothing decoded or normalised, for it is signed. */
  readonly target: string;
  /** Names in lower case; a header sent twice is joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body, or how it is unusable: more than the limit of this server. */
  readonly body: Uint8Array | "too_large";
}

/** An answer before it is on the wire. `Content-Length` and `Date` are added when it is written. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * What becomes of a request: an answer, whole or breaking off in the middle of its body, or a connection
 * that ends without a word.
 */
export type Reply =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "half"; readonly answer: Answer }
  | { readonly kind: "cut" };

const UTF8 = new TextEncoder();

/** An answer with a JSON body. */
export function json(
  status: number,
  body: JsonValue,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: UTF8.encode(JSON.stringify(body)),
  };
}

/** A refusal with the protocol's error body (protocol §1). */
export function refuse(
  status: number,
  code: string,
  message: string,
  members: Readonly<Record<string, JsonValue>> = {},
): Answer {
  return json(status, { error: { code, message, ...members } });
}
