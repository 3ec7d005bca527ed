import { ed25519 } from "@noble/curves/ed25519.js";
import { enroll } from "../../../../adapters/portal/enroll.ts";
import type { Answer, WireRequest } from "../../../../adapters/portal/http/message.ts";
import { json, refuse } from "../../../../adapters/portal/http/message.ts";
import { manifest } from "../../../../adapters/portal/manifest.ts";
import type { Portal } from "../../../../adapters/portal/portal.ts";
import type { Agent } from "../../../../adapters/portal/state.ts";
import { sync } from "../../../../adapters/portal/sync.ts";
import { isJsonObject, type JsonObject } from "../../../../core/json.ts";
import { decodeBase64 } from "../../../../core/protocol/base64.ts";
import { signedBytes, type SignedParts, verify } from "../../../../core/protocol/signing.ts";

/** A request whose body is there, whatever its size. */
export type Whole = WireRequest & { readonly body: Uint8Array };

/** What a signature that the portal refuses was made over, or by. */
export type Explanation =
  | "another body"
  | "another method"
  | "another path"
  | "no query"
  | "another second"
  | "another agent"
  | "an old key"
  | "a changed signature"
  | "a stranger";

const BASE = "/agent/v1";

/** Why the agent's key does not verify this signature. */
export function explain(portal: Portal, request: Whole): Explanation {
  const agent = agentOf(portal, request);
  const signature = decodeBase64(request.headers.get("pbx-signature") ?? "") ?? new Uint8Array();
  const timestamp = Number(request.headers.get("pbx-timestamp"));
  const { method, target: path, body } = request;
  const parts = { method, path, timestamp, body };
  const by = (key: string | undefined, differs: Partial<SignedParts> = {}) =>
    verify(
      decodeBase64(key ?? "") ?? new Uint8Array(),
      signature,
      signedBytes({ ...parts, ...differs }),
    );
  const own = agent?.keys.signing;
  const bodies: Uint8Array[] = [new Uint8Array(), body.subarray(0, -1)];
  if (bodies.some((other) => by(own, { body: other }))) return "another body";
  if (["GET", "POST"].some((other) => by(own, { method: other }))) return "another method";
  if (path.includes("?") && by(own, { path: path.replace(/\?.*/, "") })) return "no query";
  if (["/rotate-key", "/sync"].some((other) => by(own, { path: BASE + other }))) {
    return "another path";
  }
  if ([-1, 1].some((off) => by(own, { timestamp: timestamp + off }))) return "another second";
  if (agent?.retired.some((key) => by(key))) return "an old key";
  if ([...portal.state.agents.values()].some(({ keys }) => by(keys.signing))) {
    return "another agent";
  }
  const key = decodeBase64(own ?? "") ?? new Uint8Array();
  if (isReducedValid(key, signature, signedBytes(parts))) return "a changed signature";
  return "a stranger";
}

/** The agent that a request says it is from. */
export function agentOf(portal: Portal, { headers }: WireRequest): Agent | undefined {
  return portal.state.agents.get(headers.get("pbx-agent") ?? "");
}

/** The answer to whoever the request says it is from, whatever its signature is. */
export function trusting(portal: Portal, request: Whole, path: string): Answer {
  const version = "0.1.0";
  const agent = agentOf(portal, request) ?? [...portal.state.agents.values()][0];
  const asker = { path, agent: null };
  if (path === "/enroll") return enroll(portal, asker, request.body, version);
  if (agent === undefined) return refuse(401, "revoked", "nobody");
  if (path === "/sync") {
    return sync(portal, asker, { agent, key: "current" }, request.body, version);
  }
  const release = /^\/releases\/(.+)\/manifest$/.exec(path)?.[1];
  return release === undefined ? json(200, {}) : manifest(portal, release);
}

/** The same answer with another body. */
export function edited(answer: Answer, edit: (body: JsonObject) => JsonObject): Answer {
  if (answer.status !== 200) return answer;
  return json(200, edit(bodyOf(answer)), answer.headers);
}

/** An answer's or a request's body; `{}` where it is no object. */
export function bodyOf({ body }: { readonly body: Uint8Array | "too_large" }): JsonObject {
  try {
    const value = JSON.parse(new TextDecoder().decode(body === "too_large" ? undefined : body));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** The same request with members of its body replaced; only for those that nobody signs. */
export function rewritten(request: Whole, changes: JsonObject): Whole {
  const body = new TextEncoder().encode(JSON.stringify({ ...bodyOf(request), ...changes }));
  // They are about the body that was sent; the answer is signed for that one all the same.
  const headers = new Map(request.headers);
  for (const name of ["content-digest", "pbx-nonce"]) headers.delete(name);
  return { ...request, headers, body };
}

/** The same request under other headers; null takes one away. */
export function under(request: Whole, changes: Readonly<Record<string, string>>): Whole {
  return { ...request, headers: new Map([...request.headers, ...Object.entries(changes)]) };
}

/** Whether the signature verifies once its S is reduced. */
function isReducedValid(key: Uint8Array, signature: Uint8Array, bytes: Uint8Array): boolean {
  const order = ed25519.Point.Fn.ORDER;
  let scalar = 0n;
  for (let at = 63; at >= 32; at--) scalar = (scalar << 8n) | BigInt(signature[at] ?? 0);
  if (scalar < order) return false;
  scalar -= order;
  const reduced = signature.slice();
  for (let at = 32; at < 64; at++) {
    reduced[at] = Number(scalar & 0xffn);
    scalar >>= 8n;
  }
  return verify(key, reduced, bytes);
}
