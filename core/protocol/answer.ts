import type { JsonValue } from "../json.ts";
import type { Result } from "../result.ts";
import { ErrorBody } from "./error_body.ts";
import { ReleaseVersion, Rfc3339 } from "./identifiers.ts";
import { type Body, readBody } from "./json_body.ts";
import { retryAfterMs } from "./retry_after.ts";

/** An answer as it came: header names in lower case. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Why no answer came. */
export interface NoReply {
  readonly code: string;
  readonly message: string;
}

/** The ID of the key in `portal_keys` that signed an answer; left out where nothing proves it. */
interface Signed {
  readonly signer?: string;
}

/** What an answer says, before anybody decides what to do about it. */
export type Meaning =
  | { readonly kind: "success"; readonly body: JsonValue; readonly unfit: Body["unfit"] } & Signed
  /** 400, other 4xx and 3xx: this request is wrong and will stay wrong. */
  | {
    readonly kind: "rejected";
    readonly status: number;
    readonly code: string;
    readonly message: string;
  }
  | { readonly kind: "unauthorized"; readonly code: string; readonly message: string } & Signed
  | { readonly kind: "replayed" }
  /** `portalTime`: milliseconds since the epoch. */
  | { readonly kind: "clock_skew"; readonly portalTime: number }
  | { readonly kind: "too_old"; readonly release: string | null }
  /** 429: asked to wait `ms`. */
  | { readonly kind: "wait"; readonly ms: number }
  /** 5xx, a malformed answer, no network, a time-out: try again later. */
  | { readonly kind: "trouble"; readonly code: string; readonly message: string };

/**
 * Reads an answer of the portal (protocol §1, both tables). `correctedNow`: the corrected clock,
 * milliseconds since the epoch. A known status with an unreadable body is read by its status.
 */
export function meaningOf(reply: Result<Reply, NoReply>, correctedNow: number): Meaning {
  if (!reply.ok) {
    const code = reply.error.code === "too_large" ? "body_too_large" : reply.error.code;
    return { kind: "trouble", code, message: reply.error.message };
  }
  const { status, headers, body } = reply.value;
  if (status === 200) return success(headers, body);
  const error = errorBody(body);
  // Any other code is no code of the protocol: it would name a line of the log and a trouble in the state.
  const code = error !== null && /^[a-z][a-z0-9_]{0,63}$/.test(error.code) ? error.code : "";
  const message = `${status}${code === "" ? "" : ` ${code}`}${
    error?.message === undefined ? "" : `: ${error.message.slice(0, 300)}`
  }`;

  if (status === 400 && code === "replayed") return { kind: "replayed" };
  if (ONLY_BY_THE_PORTAL.includes(status) && !(isJson(headers) && isCode(error?.code))) {
    return {
      kind: "trouble",
      code: "not_the_portal",
      message: `${status} without the protocol's error body: a proxy answered, not the portal`,
    };
  }
  if (status === 401) return { kind: "unauthorized", code, message };
  if (status === 409 && code === "clock_skew") {
    const portalTime = plausibleTime(error?.time);
    if (portalTime !== null) return { kind: "clock_skew", portalTime };
  }
  if (status === 426) {
    const release = ReleaseVersion.safeParse(error?.release);
    return { kind: "too_old", release: release.success ? release.data : null };
  }
  if (status === 429) {
    const ms = retryAfterMs(headers, correctedNow);
    return ms === null
      ? { kind: "trouble", code: "http_429", message: `${message} without a usable Retry-After` }
      : { kind: "wait", ms };
  }
  if (status >= 300 && status < 500) return { kind: "rejected", status, code, message };
  return { kind: "trouble", code: `http_${status}`, message };
}

/** Proxies answer with these too, so that they count only with an error body of the protocol. */
const ONLY_BY_THE_PORTAL = [401, 403, 407];

function isCode(code: string | undefined): boolean {
  return code !== undefined && /^[a-z0-9_]+$/.test(code);
}

/** Whether only the portal can have said this: it has a body of the protocol, or says what only that asks for. */
export function isOfPortal(meaning: Meaning): boolean {
  switch (meaning.kind) {
    case "success":
    case "unauthorized":
    case "replayed":
    case "clock_skew":
      return true;
    case "rejected":
      return meaning.code !== "";
    case "too_old":
      return meaning.release !== null;
    case "wait":
    case "trouble":
      return false;
  }
}

/** Milliseconds since the epoch: a clock is corrected by no time that a clock cannot show. */
const EARLIEST = Date.UTC(2000, 0);
const LATEST = Date.UTC(9000, 0);

/** The instant that an RFC 3339 text says, or null where it says none that a clock could show. */
function plausibleTime(text: string | undefined): number | null {
  if (!Rfc3339.safeParse(text).success) return null;
  const instant = Date.parse(text ?? "");
  return isPlausibleTime(instant) ? instant : null;
}

/** Whether a clock could show this instant, milliseconds since the epoch. */
export function isPlausibleTime(instant: number): boolean {
  return instant >= EARLIEST && instant < LATEST;
}

function success(headers: Reply["headers"], bytes: Uint8Array): Meaning {
  if (!isJson(headers)) {
    const type = headers["content-type"] ?? "";
    return {
      kind: "trouble",
      code: "malformed_answer",
      message: `the answer's content type is '${type.slice(0, 80)}', not JSON`,
    };
  }
  const body = readBody(bytes);
  return body.ok
    ? { kind: "success", body: body.value.value, unfit: body.value.unfit }
    : { kind: "trouble", code: "malformed_answer", message: body.error.message };
}

function isJson(headers: Reply["headers"]): boolean {
  const type = headers["content-type"] ?? "";
  return /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type.trim());
}

function errorBody(bytes: Uint8Array): ErrorBody["error"] | null {
  // A number beside the error's members hinders nobody.
  const json = readBody(bytes);
  const parsed = json.ok ? ErrorBody.safeParse(json.value.value) : null;
  return parsed?.success ? parsed.data.error : null;
}
