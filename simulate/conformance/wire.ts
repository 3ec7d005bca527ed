import type { JsonValue } from "../../core/json.ts";
import type { Http } from "../../core/ports/http.ts";
import type { Random } from "../../core/ports/random.ts";
import { contentDigest, type RequestProof } from "../../core/protocol/answer_signature.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import { requestProofOf } from "../request_proof.ts";

/** An answer as it came. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /**
   * The body as JSON, read leniently: whatever its type and size are, so that one fault does not hide
   * what else is to be seen. Undefined where it is none.
   */
  readonly json: JsonValue | undefined;
}

/** One request and what came of it. */
export interface Exchange {
  /** For people: `POST /sync`, and what was special about it. */
  readonly sent: string;
  /** Null where none came; `failure` says why. */
  readonly answer: Answer | null;
  readonly failure: string | null;
  /** What of the request the answer's signature has to cover; null where there is nothing to cover. */
  readonly request: RequestProof | null;
}

/** A request below the base. */
export interface Sending {
  readonly method: "GET" | "POST";
  /** Below the base, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** What is special about it, for people. */
  readonly as: string;
}

/** Sends requests one by one and keeps what came of them. */
export interface Wire {
  /** The path of the base, which belongs to what is signed. */
  readonly basePath: string;
  readonly exchanges: readonly Exchange[];
  /** The portal stopped answering: nothing more is sent. */
  hasStopped(): boolean;
  send(sending: Sending): Promise<Exchange>;
}

/** Far over the protocol's limit: an answer that is too long is to be seen as such. */
const MOST_BYTES = 4 * 1024 * 1024;
/** After so many time-outs in a row nothing more is sent: a hundred of them would take an hour. */
const MOST_TIMEOUTS = 3;
const TOTAL_MS = 30_000;
const CONNECT_MS = 10_000;

/** What a wire is made of. */
export interface WireOptions {
  readonly http: Http;
  readonly random: Random;
  /** With any, requests ask for proven answers as an agent does. */
  readonly portalKeys: readonly Uint8Array[];
}

/** A wire to the portal at `base`. */
export function createWire(
  base: string,
  { http, random, portalKeys }: WireOptions,
): Wire {
  const exchanges: Exchange[] = [];
  let timeouts = 0;
  return {
    basePath: new URL(base).pathname.replace(/\/$/, ""),
    exchanges,
    hasStopped: () => timeouts === MOST_TIMEOUTS,
    async send({ method, path, headers, body, as }) {
      const sent = `${method} ${path}${as === "" ? "" : `, ${as}`}`;
      if (timeouts === MOST_TIMEOUTS) {
        const failure = "not sent: the portal no longer answers";
        return { sent, answer: null, failure, request: null };
      }
      const proving = portalKeys.length === 0 ? {} : provingHeaders(path, body, random);
      const all = { ...headers, ...proving };
      const reply = await http.request({
        method,
        url: base + path,
        headers: all,
        ...(body === undefined ? {} : { body }),
        totalMs: TOTAL_MS,
        connectMs: CONNECT_MS,
        maxBytes: MOST_BYTES,
      });
      timeouts = !reply.ok && reply.error.code === "timeout" ? timeouts + 1 : 0;
      const exchange: Exchange = {
        sent,
        answer: reply.ok ? { ...reply.value, json: jsonOf(reply.value.body) } : null,
        failure: reply.ok ? null : `${reply.error.code}: ${reply.error.message}`,
        request: requestProofOf(all),
      };
      exchanges.push(exchange);
      return exchange;
    },
  };
}

/** What an agent with `portal_keys` sends beside the rest (trust.md T2). */
function provingHeaders(path: string, body: Uint8Array | undefined, random: Random) {
  const plain = { "Accept-Encoding": "identity" };
  if (path !== "/enroll" || body === undefined) return plain;
  const nonce = encodeBase64(random.bytes(16));
  return { ...plain, "PBX-Nonce": nonce, "Content-Digest": contentDigest(body) };
}

function jsonOf(body: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
