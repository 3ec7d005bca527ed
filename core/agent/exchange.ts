import type { JsonValue } from "../json.ts";
import type { Meaning } from "../protocol/answer.ts";
import type { Body } from "../protocol/json_body.ts";
import { encodeBase64 } from "../protocol/base64.ts";
import {
  FRESH_MEMORY,
  MAX_REFUSALS,
  type Memory,
  type Reaction,
  reactionTo,
} from "../protocol/reaction.ts";
import { hashBody, signedBytesOf } from "../protocol/signing.ts";
import { withEntry } from "../state/history.ts";
import type { KeyPairs } from "../state/identity.ts";
import type { ChannelName } from "../state/state.ts";
import type { BoundContext } from "./context.ts";
import { clearConditions, correctedNow, raiseCondition } from "./context.ts";
import { byPortal, entryOf } from "./history_entry.ts";
import { pairsOf } from "./identity_holder.ts";
import { judgeAnswer, noteAnswer, plainAnswer } from "./read_answer.ts";

/** Largest body in either direction, bytes decoded (protocol §1). */
export const MAX_BODY = 262_144;
/** Time limits of one request, milliseconds (protocol §1). */
export const TOTAL_MS = 30_000;
export const CONNECT_MS = 10_000;

/** A request that the agent signs. `path` begins after the portal's base. */
export interface SignedRequest {
  /** Whose backoff it shares; null: the caller waits on its own account. */
  readonly channel: ChannelName | null;
  readonly method: "GET" | "POST";
  readonly path: string;
  /** The JSON body; none for GET. */
  readonly body?: JsonValue;
  /**
   * One request, signed again only after `clock_skew`, and once. `pair`: with which pair of keys, counted
   * through those that a rotation under way leaves; it is not tried with another one.
   */
  readonly once?: { readonly pair: number };
}

/** What a signed request came to, with the waiting already booked on its channel. */
export type Outcome =
  | {
    readonly do: "apply";
    readonly body: JsonValue;
    /** Of a sync alone, which judges it by where it stands; any other answer with it is malformed. */
    readonly unfit: Body["unfit"];
    readonly bytes: Uint8Array;
    /** When the request that this answers was sent, on the monotonic clock. */
    readonly sent: number;
    /** The pair of keys in use signed it, and not the other one of a rotation. */
    readonly current: boolean;
    /** The ID of the key in `portal_keys` that signed the answer; null where nothing proves it. */
    readonly signer: string | null;
  }
  | Exclude<Reaction, { do: "apply" | "sign_again" }>
  /** The program has to end. */
  | { readonly do: "aborted" };

/**
 * Sends a signed request and reads the answer (protocol §1): signs again where that is the answer's
 * way out, learns the clock offset, and books backoff or wait on the channel. A success is booked by
 * the caller, who may still find the answer malformed.
 */
export async function exchange(context: BoundContext, request: SignedRequest): Promise<Outcome> {
  const body = bodyOf(request);
  const digest = await digestOf(context, body);
  // A sync's body always differs, so its refusals are counted in a row instead.
  const key = request.channel === "sync" ? "sync" : keyOf(request, digest);
  if (request.channel !== "sync" && isRefused(context, key)) {
    // Manifests are asked for in every cycle anyway: what is not sent must not make another release wait.
    const channel = request.channel === "manifests" ? null : request.channel;
    return await notSent(context, channel, REFUSED_BEFORE);
  }
  if (body.length > MAX_BODY) {
    const message = `the body has ${body.length} bytes, over ${MAX_BODY}`;
    return await notSent(context, request.channel, message);
  }

  // The body of a sync tells one process from another; other requests may be the same as before a kill.
  const own = request.channel === "sync"
    ? 0
    : context.requests.untilOwnSecond(correctedNow(context));
  if (own > 0) await context.ports.clock.sleep(own, context.stop);

  let keys = pairFor(context, request);
  if (request.once !== undefined) context.requests.remember(key, FRESH_MEMORY);
  const refused: KeyPairs[] = [];
  while (true) {
    const sent = context.ports.clock.monotonic();
    const { reply, signature } = await send(context, request, { body, digest }, keys);
    if (!reply.ok && reply.error.code === "aborted") return { do: "aborted" };
    const judging = judgeAnswer(context, reply, { kind: "signed", signature });
    const judged = judging instanceof Promise ? await judging : judging;
    const noted = noteAnswer(context, request.channel ?? request.path, judged);
    // Only where there is something to note: what is due beside this must not overtake a refusal.
    if (noted !== null) await noted;
    const meaning = forNow(request, judged.meaning);
    // While a key rotation is under way, a 401 counts only after both keys were refused (protocol §1).
    if (meaning.kind === "unauthorized" && request.once === undefined) {
      refused.push(keys);
      // As they are now: the rotation may have gone on while the answer was under way.
      const untried = pairsOf(context.identity.current).find((pair) => !refused.includes(pair));
      if (untried !== undefined) {
        keys = untried;
        continue;
      }
    }
    if (meaning.kind === "clock_skew") await learnTime(context, meaning.portalTime, sent);
    const { reaction, memory } = reactionTo(meaning, context.requests.of(key));
    context.requests.remember(key, inARow(request, meaning, memory));
    noteDemand(context, request, meaning);
    if (reaction.do === "sign_again") {
      if (request.once === undefined || meaning.kind === "clock_skew") continue;
      return { do: "back_off", code: meaning.kind, message: "the one request was not taken" };
    }
    if (reaction.do === "apply") {
      if (meaning.kind !== "success" || !reply.ok) throw new Error("applied what is no success");
      const current = keys === context.identity.current.keys;
      return {
        do: "apply",
        body: meaning.body,
        unfit: meaning.unfit,
        bytes: reply.value.body,
        sent,
        current,
        signer: meaning.signer ?? null,
      };
    }
    // Stored at once, whoever asked: the life of the agent ends with it, and not with the next sync.
    if (reaction.do === "stop") {
      await noteRefused(context, meaning.kind === "unauthorized" ? meaning.signer : undefined);
    }
    await book(context, request.channel, reaction);
    return reaction;
  }
}

async function noteRefused(context: BoundContext, signer: string | undefined): Promise<void> {
  const { store } = context;
  const entry = store.state.revoked
    ? null
    : entryOf(context, byPortal(signer ?? null), { what: "revoked" });
  await store.keep((now) => {
    const refused = { ...now, revoked: true };
    return entry === null ? refused : withEntry(refused, entry);
  });
}

/**
 * A 426 to any signed request demands another version; what else such a request is answered with ends
 * that. For manifests the next accepted desired state does: other ones are fetched for the update itself.
 */
function noteDemand(
  { requests }: BoundContext,
  { channel, path }: SignedRequest,
  meaning: Meaning,
): void {
  const kind = channel ?? path;
  if (meaning.kind === "too_old") {
    if (meaning.release !== null) requests.demand(kind, meaning.release);
  } else if (meaning.kind === "success" || meaning.kind === "rejected" && kind !== "sync") {
    if (kind !== "manifests") requests.demand(kind, null);
  }
}

/** Where only one request may be made, a rotation under way leaves two pairs that the portal may know. */
function pairFor({ identity }: BoundContext, { once }: SignedRequest): KeyPairs {
  const { keys } = identity.current;
  if (once === undefined) return keys;
  const pairs = pairsOf(identity.current);
  return pairs[once.pair % pairs.length] ?? keys;
}

/** Whether the portal refused this request so often that it is not sent again before a restart. */
export async function wasRefused(
  context: BoundContext,
  request: SignedRequest,
): Promise<boolean> {
  return isRefused(context, keyOf(request, await digestOf(context, bodyOf(request))));
}

function isRefused(context: BoundContext, key: string): boolean {
  return context.requests.of(key).refused >= MAX_REFUSALS;
}

const UTF8 = new TextEncoder();

function bodyOf({ body }: SignedRequest): Uint8Array {
  return body === undefined ? new Uint8Array() : UTF8.encode(jsonText(body));
}

/**
 * JSON that every reader takes. A text that was cut between the two halves of a character, or came so, is
 * written as an escape of half a character, and strict readers refuse the whole body for it.
 */
function jsonText(body: JsonValue): string {
  const text = JSON.stringify(body);
  if (!text.includes("\\ud")) return text;
  return text.replace(/\\(?:(ud[89a-f][0-9a-f]{2})|.)/g, (as, half) => half ? "\\ufffd" : as);
}

async function digestOf(context: BoundContext, body: Uint8Array): Promise<string> {
  return await (context.hashBody ?? hashBody)(body);
}

/** `digest`: what `hashBody` gives for the body. */
function keyOf({ method, path }: SignedRequest, digest: string): string {
  return `${method} ${path} ${digest}`;
}

/**
 * What refuses syncs is counted in a row (protocol §1): another answer in between begins the count anew. A
 * `clock_skew` is none of those, because the same request is signed again for it.
 */
function inARow({ channel }: SignedRequest, { kind }: Meaning, memory: Memory): Memory {
  const isAnother = kind === "trouble" || kind === "wait" || kind === "too_old";
  return channel === "sync" && isAnother ? { ...memory, refused: 0 } : memory;
}

/**
 * What an answer means to this request. A manifest that is not there (404) may still come: it is asked for
 * in later cycles, however often.
 */
function forNow(request: SignedRequest, meaning: Meaning): Meaning {
  if (meaning.kind === "success" && request.channel !== "sync") {
    const [unfit] = meaning.unfit;
    return unfit === undefined
      ? meaning
      : { kind: "trouble", code: "malformed_answer", message: unfit.message };
  }
  if (request.channel !== "manifests" || meaning.kind !== "rejected" || meaning.status !== 404) {
    return meaning;
  }
  return { kind: "trouble", code: meaning.code || "http_404", message: meaning.message };
}

async function send(
  context: BoundContext,
  request: SignedRequest,
  { body, digest }: { readonly body: Uint8Array; readonly digest: string },
  keys: KeyPairs,
) {
  const url = context.portal + request.path;
  const path = url.slice(url.indexOf("/", url.indexOf("//") + 2));
  const now = Math.floor(correctedNow(context) / 1000);
  const second = context.requests.secondFor(`${request.method} ${request.path}`, digest, now);
  const bytes = signedBytesOf({ method: request.method, path, timestamp: second }, digest);
  const signature = encodeBase64(await context.sign(keys.signing, bytes));
  const reply = await context.ports.http.request({
    method: request.method,
    url,
    headers: {
      "PBX-Protocol": "1",
      "PBX-Agent": context.binding.agent_id,
      "PBX-Timestamp": String(second),
      "PBX-Signature": signature,
      ...plainAnswer(context),
      ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
    },
    ...(request.body === undefined ? {} : { body }),
    totalMs: TOTAL_MS,
    connectMs: CONNECT_MS,
    maxBytes: MAX_BODY,
    signal: context.stop,
  });
  return { reply, signature };
}

async function learnTime(
  context: BoundContext,
  portalTime: number,
  sent: number,
): Promise<void> {
  const offset = Math.round(portalTime - context.ports.clock.now());
  context.ports.log.write(
    "warn",
    "clock_offset",
    `the portal's clock is ${
      Math.round(offset / 1000)
    } s off this node's; requests are signed with its time`,
    { offset_ms: offset },
  );
  await context.time.told(portalTime, sent);
  await judgeOffset(context, offset);
}

/** Above this many milliseconds the offset is a condition (protocol §4). */
const LARGE_OFFSET_MS = 10_000;

/** Raises `clock_offset_large` while the portal's clock and the node's are too far apart. */
export async function judgeOffset(context: BoundContext, offsetMs: number): Promise<void> {
  if (Math.abs(offsetMs) <= LARGE_OFFSET_MS) {
    await clearConditions(context, "clock_offset_large");
    return;
  }
  await raiseCondition(
    context,
    "clock_offset_large",
    "this node's clock and the portal's are more than 10 s apart: set the node's clock (NTP)",
  );
}

async function book(
  context: BoundContext,
  channel: ChannelName | null,
  reaction: Reaction,
): Promise<void> {
  if (channel === null) return;
  switch (reaction.do) {
    case "back_off":
      return await context.channels.failed(channel);
    case "give_up":
      return await context.channels.failed(channel, channel === "sync");
    case "wait":
      return await context.channels.asked(channel, reaction.ms);
    case "update":
      return await context.channels.failed(channel);
    case "stop":
    case "apply":
    case "sign_again":
      return;
  }
}

const REFUSED_BEFORE =
  "the portal refused this request three times; it is not sent again before a restart";

async function notSent(
  context: BoundContext,
  channel: ChannelName | null,
  message: string,
): Promise<Outcome> {
  if (channel !== null) await context.channels.failed(channel);
  return { do: "give_up", code: "not_sent", message };
}
