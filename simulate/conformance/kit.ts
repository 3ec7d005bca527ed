import type { JsonObject, JsonValue } from "../../core/json.ts";
import { encodeBase64 } from "../../core/protocol/base64.ts";
import type { EnrollAnswer } from "../../core/protocol/enroll.ts";
import { retryAfterMs } from "../../core/protocol/retry_after.ts";
import { sign, signedBytes, type SignedParts } from "../../core/protocol/signing.ts";
import type { Secret } from "../../core/secret.ts";
import { type Book, createBook } from "./book.ts";
import { errorCode, type Expected, whatCame } from "./expected.ts";
import type { Keys } from "./keys.ts";
import type { ConformanceOptions } from "./options.ts";
import type { TokenEntry } from "./token_entry.ts";
import type { RuleId } from "./rules.ts";
import { createWire, type Exchange, type Sending, type Wire } from "./wire.ts";

/** An agent that the kit plays. */
export interface Player {
  readonly id: string;
  readonly entry: TokenEntry;
  /** The answer to its enrollment; null where that broke its schema. */
  readonly enrolled: EnrollAnswer | null;
  keys: Keys;
  /** Counts its reports, so that no two are the same. */
  reports: number;
}

/** A signed request, and where it is to differ from what an agent would send. */
export interface Request {
  readonly method?: "GET" | "POST";
  /** Below the base. */
  readonly path: string;
  readonly body?: JsonValue | Uint8Array;
  /** What is special about it, for people. */
  readonly as?: string;
  /** Unix seconds; unless told the portal's present second, or a later one where that was used. */
  readonly at?: number;
  /** What is signed in place of what is sent; `path` below the base. */
  readonly signed?: Partial<SignedParts>;
  /** The seed that signs, in place of the agent's. */
  readonly by?: Secret<Uint8Array>;
  /** The text of the signature, made of its bytes. */
  readonly spell?: (signature: Uint8Array) => string;
  /** In place of what belongs there; null leaves a header out. */
  readonly headers?: Readonly<Record<string, string | null>>;
}

/** What every part of the walk works with. */
export interface Kit {
  readonly options: ConformanceOptions;
  readonly wire: Wire;
  readonly book: Book;
  /** Texts that no answer may hold: tokens, and what was found in sealed boxes. */
  readonly secrets: Set<string>;
  /** The agents that were enrolled; null where that failed or there was no token. */
  main: Player | null;
  second: Player | null;
  /** The first answers that later parts look into. */
  desired: JsonObject | null;
  /** An offer that came with a report of the first agent. */
  offered: JsonValue;
  /** The portal's clock, as its answers told it, milliseconds since the epoch. */
  portalNow(): number;
  /** An answer said the portal's time. */
  learnTime(portalMs: number): void;
  /** Sends without a signature. A 429 is waited out. */
  send(sending: Sending): Promise<Exchange>;
  /** Sends as an agent. A 429 is waited out. */
  ask(player: Player, request: Request): Promise<Exchange>;
  /** The request as it would go out. */
  prepare(player: Player, request: Request): Sending;
  /** Writes down whether the answer is as it should be, and says so. */
  expect(rule: RuleId, exchange: Exchange, expected: Expected): boolean;
}

const MOST_WAITS = 5;
const LONGEST_WAIT_MS = 60_000;

/** The headers of every request to the portal with a body. */
export const PLAIN_HEADERS: Readonly<Record<string, string>> = {
  "PBX-Protocol": "1",
  "Content-Type": "application/json",
};

/** A kit that has seen nothing yet. */
export function createKit(options: ConformanceOptions): Kit {
  const { clock } = options;
  const wire = createWire(options.base, options);
  const book = createBook();
  const used = new Set<string>();
  let offsetMs = 0;
  const portalNow = () => clock.now() + offsetMs;

  function prepare(player: Player, request: Request): Sending {
    const { method = "POST", path, by = player.keys.signing, spell = encodeBase64 } = request;
    const body = request.body === undefined ? undefined : bytesOf(request.body);
    const signed = {
      method,
      body: body ?? new Uint8Array(0),
      ...request.signed,
      path: wire.basePath + (request.signed?.path ?? path),
    };
    let second = request.at ?? Math.floor(portalNow() / 1000);
    let signature = sign(by, signedBytes({ timestamp: second, ...signed }));
    while (request.at === undefined && used.has(encodeBase64(signature))) {
      second++;
      signature = sign(by, signedBytes({ timestamp: second, ...signed }));
    }
    used.add(encodeBase64(signature));
    const headers: Record<string, string | null> = {
      "PBX-Protocol": "1",
      ...(body === undefined ? {} : PLAIN_HEADERS),
      "PBX-Agent": player.id,
      "PBX-Timestamp": String(second),
      "PBX-Signature": spell(signature),
      ...request.headers,
    };
    const sent = Object.entries(headers).filter((header): header is [string, string] =>
      header[1] !== null
    );
    return {
      method,
      path,
      headers: Object.fromEntries(sent),
      ...(body === undefined ? {} : { body }),
      as: request.as ?? "",
    };
  }

  /** Sends what `make` makes, anew after each 429. */
  async function patiently(make: () => Sending): Promise<Exchange> {
    for (let wait = 0;; wait++) {
      const exchange = await wire.send(make());
      const { answer } = exchange;
      if (answer?.status !== 429 || wait === MOST_WAITS) return exchange;
      const ms = retryAfterMs(answer.headers, portalNow()) ?? 1_000;
      await clock.sleep(Math.min(ms, LONGEST_WAIT_MS));
    }
  }

  return {
    options,
    wire,
    book,
    secrets: new Set(options.tokens.map(({ token }) => token.reveal())),
    main: null,
    second: null,
    desired: null,
    offered: null,
    portalNow,
    learnTime(portalMs) {
      offsetMs = portalMs - clock.now();
    },
    prepare,
    send: (sending) => patiently(() => sending),
    ask: (player, request) => patiently(() => prepare(player, request)),
    expect(rule, exchange, expected) {
      const { answer } = exchange;
      const blocked = blockedBy(exchange, expected);
      if (answer !== null && expected.holds(answer)) {
        book.pass(rule);
        return true;
      }
      if (answer === null && exchange.failure?.startsWith("not sent")) {
        book.skip(rule, exchange.failure);
      } else if (blocked !== null) book.skip(rule, `${exchange.sent}: see ${blocked}`);
      else book.fail(rule, findingOf(exchange, expected.says));
      return false;
    },
  };
}

/** What an exchange that is not as it should be is told as. */
export function findingOf(exchange: Exchange, expected: string, came?: string) {
  return { sent: exchange.sent, came: came ?? whatCame(exchange), expected };
}

/** JSON as bytes. */
export function bytesOf(body: JsonValue | Uint8Array): Uint8Array {
  return body instanceof Uint8Array ? body : new TextEncoder().encode(JSON.stringify(body));
}

/** The rule about all answers whose fault makes this one unreadable: it is told once, there. */
function blockedBy({ answer }: Exchange, expected: Expected): RuleId | null {
  if (answer === null) return null;
  if (answer.status >= 300 && answer.status < 400) return "answer.redirect";
  return expected.status === answer.status && errorCode(answer) === "" ? "answer.error_body" : null;
}
