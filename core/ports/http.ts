import type { Result } from "../result.ts";

/** One request. Redirects are never followed: a 3xx is an answer like any other. */
export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** http or https, absolute. */
  readonly url: string;
  /** Sent as given, beside `User-Agent: pbx-agent/<version>` and what HTTP itself needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Limit of the whole exchange, body included, in milliseconds. */
  readonly totalMs: number;
  /** Limit for connecting, in milliseconds. */
  readonly connectMs: number;
  /** Limit of the answer's body in bytes, counted decoded; reading stops there. */
  readonly maxBytes: number;
  /** Ends the request early (`aborted`). */
  readonly signal?: AbortSignal;
}

/** An answer, whatever its status. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Why there is no answer. `connect`: no connection (name, refused, unreachable, connect time-out).
 * `tls`: the peer's certificate or handshake. `timeout`: the total limit. `cut`: the connection ended
 * in the middle. `too_large`: the body is over the limit. `aborted`: the caller's signal.
 */
export interface HttpError {
  readonly code: "connect" | "tls" | "timeout" | "cut" | "too_large" | "aborted";
  /** For people; names the origin, never a header or a body. */
  readonly message: string;
}

/**
 * The HTTP client. Sends nothing twice, reuses connections where that allows it, and honours the proxy
 * variables except for loopback and metadata.
 */
export interface Http {
  request(request: HttpRequest): Promise<Result<HttpAnswer, HttpError>>;
}
