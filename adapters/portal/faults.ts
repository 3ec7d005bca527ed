import * as z from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { type Answer, json, type Reply } from "./http/message.ts";

/** What a portal can get wrong about the signature of an answer (trust.md T2); see docs/portal.md. */
export const PROOF_FAULTS = [
  "unsigned",
  "other_request",
  "replayed",
  "component_missing",
  "extra_parameter",
  "wrong_key",
  "impostor",
  "two_signatures",
  "content_encoding",
  "wrong_digest",
  "tampered",
] as const;
/** One of them. */
export type ProofFault = typeof PROOF_FAULTS[number];

/** What goes wrong. Several may be combined, a delay with anything. */
export const FaultAction = z.strictObject({
  /** Wait so many milliseconds before anything else. */
  delay_ms: z.int().min(0).max(600_000).optional(),
  /** Answer this in place of the true answer; the request is not processed unless `after` says so. */
  status: z.int().min(200).max(599).optional(),
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().regex(/^[\x20-\x7e]*$/))
    .optional(),
  /** Its body as JSON; without one an error body with the code `fault`. */
  body: z.json().optional(),
  /** Its body as text, sent as it is. */
  text: z.string().optional(),
  /** 200 with more than 262,144 bytes of JSON. */
  oversize: z.boolean().optional(),
  /** 200 with JSON that breaks off. */
  malformed: z.boolean().optional(),
  /** 200 with a page of HTML. */
  not_json: z.boolean().optional(),
  /** Process the request first, so that its true answer is what gets lost. */
  after: z.boolean().optional(),
  /** End the connection: without processing, after processing, or in the middle of the answer. */
  cut: z.enum(["before", "after", "midway"]).optional(),
  /** A JSON merge patch (RFC 7396) onto the true answer's body. */
  merge: z.record(z.string(), z.json()).optional(),
  /** The answer's signature does not hold, in this way. Answers that a fault makes are signed otherwise. */
  proof: z.enum(PROOF_FAULTS).optional(),
});
export type FaultAction = z.infer<typeof FaultAction>;

/** A fault, and which requests it hits. */
export const Fault = z.strictObject({
  match: z.strictObject({
    method: z.string().optional(),
    /** Below the base, such as `/sync`; `*` stands for anything. Artifacts are `/artifacts/NAME`. */
    path: z.string().optional(),
  }).default({}),
  /** Let so many matching requests pass first. */
  skip: z.int().min(0).default(0),
  /** Hit so many, then be gone; null: until it is deleted. */
  count: z.int().min(1).nullable().default(1),
  action: FaultAction,
});
export type Fault = z.infer<typeof Fault>;

/** The first fault that this request meets, counted as used, or null. */
export function takeFault(faults: Fault[], method: string, path: string): FaultAction | null {
  for (const [index, fault] of faults.entries()) {
    if (!matches(fault, method, path)) continue;
    if (fault.skip > 0) {
      fault.skip -= 1;
      continue;
    }
    if (fault.count !== null) fault.count -= 1;
    if (fault.count === 0) faults.splice(index, 1);
    return fault.action;
  }
  return null;
}

/** Whether the request is to be left unprocessed. */
export function comesBefore(action: FaultAction): boolean {
  return action.cut === "before" || (replacement(action) !== null && action.after !== true);
}

/** What the fault makes of the true answer; of null where the request was not processed. */
export function spoil(action: FaultAction, answer: Answer | null): Reply {
  if (action.cut === "before" || action.cut === "after") return { kind: "cut" };
  const replaced = replacement(action) ?? answer;
  if (replaced === null) return { kind: "cut" };
  const spoilt = action.merge === undefined ? replaced : merged(replaced, action.merge);
  return { kind: action.cut === "midway" ? "half" : "answer", answer: spoilt };
}

/** RFC 7396: null removes a member, an object is merged, anything else replaces. */
export function mergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const result = new Map(Object.entries(isJsonObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key) ?? null, value));
  }
  return Object.fromEntries(result);
}

/** One line about a fault, for the log of requests. */
export function describeFault(action: FaultAction): string {
  return Object.entries(action)
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([key, value]) => typeof value === "object" || key === "text" ? key : `${key}=${value}`)
    .join(" ");
}

function matches(fault: Fault, method: string, path: string): boolean {
  if (fault.match.method !== undefined && fault.match.method !== method) return false;
  if (fault.match.path === undefined) return true;
  const pattern = fault.match.path.split("*").map((part) =>
    part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")
  );
  return new RegExp(`^${pattern.join(".*")}$`).test(path);
}

function replacement(action: FaultAction): Answer | null {
  const headers = action.headers ?? {};
  if (action.oversize === true) return json(200, { padding: "x".repeat(262_144) }, headers);
  if (action.malformed === true) return text(200, '{"time": "2026-01-01T00:', headers);
  if (action.not_json === true) {
    return text(200, "<html><body>Welcome</body></html>", {
      "content-type": "text/html",
      ...headers,
    });
  }
  if (action.status === undefined && action.body === undefined && action.text === undefined) {
    return null;
  }
  const status = action.status ?? 200;
  if (action.text !== undefined) return text(status, action.text, headers);
  const body = action.body ?? { error: { code: "fault", message: "ordered by the admin" } };
  return json(status, body as JsonValue, headers);
}

function text(status: number, body: string, headers: Readonly<Record<string, string>>): Answer {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: new TextEncoder().encode(body),
  };
}

function merged(answer: Answer, patch: JsonObject): Answer {
  const body = parseBody(answer.body);
  // An artifact has nothing to merge with.
  return body.ok ? json(answer.status, mergePatch(body.value, patch), answer.headers) : answer;
}
