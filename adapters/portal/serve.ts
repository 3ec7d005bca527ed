import { decodeBase64 } from "../../core/protocol/base64.ts";
import { ReleaseVersion } from "../../core/protocol/identifiers.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { nativeContentDigest } from "../native_hash.ts";
import { artifact } from "./artifact.ts";
import { authenticate } from "./authenticate.ts";
import { type Asker, noteBreach } from "./breach.ts";
import { enroll } from "./enroll.ts";
import { events } from "./events.ts";
import { type Answer, refuse, type WireRequest } from "./http/message.ts";
import { leaksSecret } from "./leaks.ts";
import { manifest } from "./manifest.ts";
import type { Portal } from "./portal.ts";
import { rotateKey } from "./rotate_key.ts";
import { sync } from "./sync.ts";

/** A request that the transport's rules hold for; `version` is the agent's own. */
type Checked = WireRequest & { readonly body: Uint8Array; readonly version: string };

/** Answers one request of an agent. Everything in it is untrusted. */
export function serve(portal: Portal, request: WireRequest): Answer {
  const path = pathBelow(portal.base, request.target);
  if (path === null) return beside(portal, request);
  const endpoint = endpointOf(path);
  if (endpoint === null) return refuse(404, "not_found", "the protocol has no such path");
  if (request.method !== endpoint.method) {
    const refusal = refuse(405, "method_not_allowed", `this path takes ${endpoint.method}`);
    return { ...refusal, headers: { ...refusal.headers, allow: endpoint.method } };
  }
  const checked = checkTransport(portal, request, endpoint.method);
  if (!checked.ok) return checked.error;
  const { version } = checked.value;
  const asker = askerOf(request);
  if (endpoint.name === "enroll") {
    if (request.headers.has("pbx-agent") || request.headers.has("pbx-signature")) {
      return refuse(400, "invalid_request", "an enrollment is not signed");
    }
    const fault = faultOfNonce(checked.value);
    if (fault !== null) return refuse(400, "invalid_request", fault);
    return enroll(portal, asker, checked.value.body, version);
  }
  const signer = authenticate(portal, checked.value);
  if (!signer.ok) return signer.error;
  const { body } = checked.value;
  if (leaksSecret(portal, signer.value.agent.clusterId, body)) {
    breach(portal, request, "secret_in_clear", "the body holds a secret of the cluster");
    return refuse(400, "secret_in_clear", "the body holds a secret of the cluster");
  }
  switch (endpoint.name) {
    case "sync":
      return sync(portal, asker, signer.value, body, version);
    case "rotate-key":
      return rotateKey(portal, asker, signer.value, body);
    case "events":
      return events(portal, asker, signer.value, endpoint.id, body);
    case "manifest":
      return manifest(portal, endpoint.id);
  }
}

/** The path below `base` without its query, or null where it is not below it. */
export function pathBelow(base: string, target: string): string | null {
  const path = target.replace(/\?.*$/, "");
  return path.startsWith(`${base}/`) ? path.slice(base.length) : null;
}

type Endpoint =
  | { readonly name: "enroll" | "sync" | "rotate-key"; readonly method: "POST"; readonly id: "" }
  | { readonly name: "events"; readonly method: "POST"; readonly id: string }
  | { readonly name: "manifest"; readonly method: "GET"; readonly id: string };

function endpointOf(path: string): Endpoint | null {
  const parts = path.split("/").slice(1);
  const [first, id, last] = parts;
  if (parts.length === 1 && (first === "enroll" || first === "sync" || first === "rotate-key")) {
    return { name: first, method: "POST", id: "" };
  }
  if (parts.length !== 3 || id === undefined || id === "") return null;
  if (first === "operations" && last === "events") return { name: "events", method: "POST", id };
  if (first === "releases" && last === "manifest") {
    return { name: "manifest", method: "GET", id: decoded(id) };
  }
  return null;
}

/** A release's version may hold a `+`, which a client may send encoded. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}

/** The rules that hold for every request to the base (protocol §1). */
function checkTransport(
  portal: Portal,
  request: WireRequest,
  method: "GET" | "POST",
): Result<Checked, Answer> {
  const { headers, body } = request;
  const bad = (message: string) => fail(refuse(400, "invalid_request", message));
  if (body === "too_large") {
    return fail(refuse(413, "body_too_large", "the body is over 262,144 bytes"));
  }
  const protocol = headers.get("pbx-protocol");
  if (protocol === undefined || !/^[0-9]{1,6}$/.test(protocol)) {
    return bad("PBX-Protocol is missing or no number");
  }
  if (protocol !== "1") {
    const release = [...portal.state.releases.keys()].at(-1) ?? "";
    return fail(refuse(426, "protocol_too_old", "this portal speaks protocol 1", { release }));
  }
  const named = /^pbx-agent\/(.+)$/.exec(headers.get("user-agent") ?? "")?.[1];
  const version = ReleaseVersion.safeParse(named);
  if (!version.success) return bad("User-Agent is no pbx-agent/VERSION");
  if (headers.has("content-encoding")) return bad("bodies travel unencoded");
  if (method === "POST" && !isJson(headers.get("content-type"))) {
    return bad("Content-Type must be application/json");
  }
  if (method === "GET" && body.length > 0) return bad("GET takes no body");
  return ok({ ...request, body, version: version.data });
}

/** What is wrong with the two headers that tie the answer to an enrollment (trust.md T2), or null. */
function faultOfNonce(
  { headers, body }: Checked,
): string | null {
  const nonce = headers.get("pbx-nonce");
  const digest = headers.get("content-digest");
  if (digest !== undefined && digest !== nativeContentDigest(body)) {
    return "Content-Digest is not sha-256=:<base64 of the body's SHA-256>:";
  }
  if (nonce === undefined) return null;
  if (decodeBase64(nonce)?.length !== 16) return "PBX-Nonce is not the base64 of 16 bytes";
  return digest === undefined ? "PBX-Nonce without Content-Digest" : null;
}

function isJson(type: string | undefined): boolean {
  return /^application\/json(?:; ?charset=utf-8)?$/i.test(type ?? "");
}

/** What is not below the base: artifacts, which must not see who asks for them (protocol §1). */
function beside(portal: Portal, request: WireRequest): Answer {
  const names = [...request.headers.keys()].filter((name) => name.startsWith("pbx-"));
  if (names.length > 0) {
    const message = `${names.join(", ")} sent to a path that is not below the base`;
    breach(portal, request, "headers_outside_base", message);
    return refuse(400, "invalid_request", message);
  }
  const name = pathBelow("/artifacts", request.target);
  if (name === null) return refuse(404, "not_found", "there is nothing here");
  if (request.method !== "GET") return refuse(405, "method_not_allowed", "artifacts take GET");
  if (!request.headers.get("user-agent")?.startsWith("pbx-agent/")) {
    breach(portal, request, "user_agent", "User-Agent is no pbx-agent/VERSION");
  }
  return artifact(portal, name.slice(1), request.headers.get("range"));
}

function breach(portal: Portal, request: WireRequest, rule: string, message: string): void {
  noteBreach(portal, askerOf(request), rule, message);
}

function askerOf(request: WireRequest): Asker {
  return { path: request.target, agent: request.headers.get("pbx-agent") ?? null };
}
