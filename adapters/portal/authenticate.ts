import { decodeBase64 } from "../../core/protocol/base64.ts";
import type { PublicKeys } from "../../core/protocol/enroll.ts";
import { AgentId } from "../../core/protocol/identifiers.ts";
import { signedBytesOf, verify } from "../../core/protocol/signing.ts";
import { nativeHashBody } from "../native_hash.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type Answer, refuse, type WireRequest } from "./http/message.ts";
import { lookupIn } from "./memory.ts";
import type { Portal } from "./portal.ts";
import type { Agent } from "./state.ts";

/** How far a timestamp may be off the portal's clock, whole seconds as it is itself (protocol §1). */
const MAX_SKEW_S = 60;
/**
 * How long a signature is remembered (protocol §1): 120 s, and the second more that a timestamp in whole
 * seconds may still be taken.
 */
const REPLAY_MEMORY_MS = 121_000;

/** Who signed a request, and with which of its keys. */
export interface Signer {
  readonly agent: Agent;
  /** During a rotation either; otherwise always `current`. */
  readonly key: "current" | "previous";
}

/**
 * Checks a signed request's three headers (protocol §1), in this order: their form (400), the agent
 * (401), the clock (409), the signature (401), the replay memory (400).
 */
export function authenticate(
  portal: Portal,
  request: WireRequest & { readonly body: Uint8Array },
): Result<Signer, Answer> {
  const headers = readHeaders(request);
  if (!headers.ok) return headers;
  const { agentId, timestamp, signature, signatureText } = headers.value;
  const agent = portal.state.agents.get(agentId);
  if (agent === undefined || agent.revoked) {
    return fail(refuse(401, "revoked", "this identity is unknown or revoked"));
  }
  if (Math.abs(timestamp - Math.floor(portal.now() / 1000)) > MAX_SKEW_S) {
    const message = "PBX-Timestamp is more than 60 s off the portal's clock";
    return fail(refuse(409, "clock_skew", message, { time: portal.time() }));
  }
  const key = keyThatSigned(portal, agent, signature, request, timestamp);
  if (key === null) {
    return fail(refuse(401, "bad_signature", "the signature is not by this agent's key"));
  }
  if (isReplay(portal, `${agentId} ${signatureText}`)) {
    return fail(refuse(400, "replayed", "this signature was seen within the last 120 s"));
  }
  return ok({ agent, key });
}

interface SignatureHeaders {
  readonly agentId: string;
  readonly timestamp: number;
  readonly signature: Uint8Array;
  readonly signatureText: string;
}

function readHeaders(request: WireRequest): Result<SignatureHeaders, Answer> {
  const agentId = request.headers.get("pbx-agent") ?? "";
  const timestamp = request.headers.get("pbx-timestamp") ?? "";
  const signatureText = request.headers.get("pbx-signature") ?? "";
  if (!AgentId.safeParse(agentId).success) return malformed("PBX-Agent is missing or no agent ID");
  if (!/^(?:0|[1-9][0-9]{0,11})$/.test(timestamp)) {
    return malformed("PBX-Timestamp is missing or no Unix time in whole seconds");
  }
  const signature = decodeBase64(signatureText);
  if (signature?.length !== 64) {
    return malformed("PBX-Signature is missing or no base64 of 64 bytes");
  }
  return ok({ agentId, timestamp: Number(timestamp), signature, signatureText });
}

function keyThatSigned(
  portal: Portal,
  agent: Agent,
  signature: Uint8Array,
  request: WireRequest & { readonly body: Uint8Array },
  timestamp: number,
): Signer["key"] | null {
  const { method, target: path, body } = request;
  const digest = (portal.hashBody ?? nativeHashBody)(body);
  const bytes = signedBytesOf({ method, path, timestamp }, digest);
  const isBy = portal.verify ?? verify;
  const signedWith = (keys: PublicKeys) => isBy(signingKeyOf(portal, keys), signature, bytes);
  if (signedWith(agent.keys)) return "current";
  if (agent.previous !== null && signedWith(agent.previous)) return "previous";
  return null;
}

/** Decoded once for as long as the agent has it. */
function signingKeyOf(portal: Portal, keys: PublicKeys): Uint8Array {
  return lookupIn(portal).of(
    keys,
    "signing",
    () => decodeBase64(keys.signing) ?? new Uint8Array(0),
  );
}

function isReplay(portal: Portal, signature: string): boolean {
  const { replays } = portal.memory;
  const now = portal.now();
  const isOver = (at: number) => Math.abs(now - at) > REPLAY_MEMORY_MS;
  // In the order in which they came: behind the first that counts the others do, too.
  for (const [seen, at] of replays) {
    if (!isOver(at)) break;
    replays.delete(seen);
  }
  const before = replays.get(signature);
  if (before !== undefined) {
    if (!isOver(before)) return true;
    replays.delete(signature);
  }
  replays.set(signature, now);
  return false;
}

function malformed(message: string): Result<never, Answer> {
  return fail(refuse(400, "invalid_request", message));
}
