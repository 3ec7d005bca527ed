import type { Clock } from "../../core/ports/clock.ts";
import type { Http, HttpAnswer, HttpError, HttpRequest } from "../../core/ports/http.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { faultOf, httpError } from "../../adapters/node/http_error.ts";
import { readLimited } from "../../adapters/node/read_limited.ts";
import type { RawAnswer } from "./answer_reader.ts";
import { type Connection, createConnection } from "./connection.ts";
import { OWN_LIMITS, type OwnLimit, ownLimitOf } from "./own_limit.ts";

/** What the client of one simulated agent is made of. */
export interface FleetHttpOptions {
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
  /** Certificates (PEM) trusted beside the runtime's own. */
  readonly caCerts?: readonly string[];
  readonly clock: Clock;
  /** Hears of connections that this machine itself has no room for. */
  readonly limited?: (limit: OwnLimit) => void;
}

/** The HTTP client of one simulated agent. */
export interface FleetHttp extends Http {
  /** Ends its connections, as its machine does when it goes down. */
  close(): void;
}

type Exchange = Result<HttpAnswer, HttpError>;

/**
 * The HTTP client of one simulated agent: connections of its own, as a machine of its own would have,
 * at a fraction of the memory that the runtime's client takes for each. It does what the real one does
 * (http contract): requests with a body use a kept connection, others a fresh one, nothing is sent
 * twice. Proxies it does not know.
 */
export function createFleetHttp(options: FleetHttpOptions): FleetHttp {
  const { clock } = options;
  const kept = new Map<string, Connection[]>();
  const busy = new Set<Connection>();
  let isClosed = false;

  async function request(request: HttpRequest): Promise<Exchange> {
    const url = new URL(request.url);
    if (request.signal?.aborted) return fail(httpError("aborted", url, "ended by the agent"));
    const bytes = encode(url, request, options.version);
    const limits = openLimits(request, url, clock);
    try {
      const hasBody = request.body !== undefined && request.body.length > 0;
      const free = hasBody ? takeFree(kept, url.origin) : null;
      const opened = free === null
        ? await limits.connecting((signal) => open(url, options, signal))
        : ok(free);
      if (!opened.ok) return opened;
      const connection = opened.value;
      busy.add(connection);
      limits.onEnd(connection.close);
      const answer = await connection.exchange(bytes, request.maxBytes);
      busy.delete(connection);
      if (hasBody && connection.isFree()) keep(kept, url.origin, connection);
      else connection.close();
      const fault = limits.fault();
      if (fault !== null) return fail(fault);
      // Its program was killed: nobody hears of an answer, and none is missing.
      if (isClosed) return fail(httpError("aborted", url, "ended by the simulation"));
      return await decode(answer, url, request);
    } finally {
      limits.clear();
    }
  }

  return {
    request,
    close() {
      isClosed = true;
      for (const connection of busy) connection.close();
      for (const connections of kept.values()) for (const one of connections) one.close();
      kept.clear();
    },
  };
}

function takeFree(kept: Map<string, Connection[]>, origin: string): Connection | null {
  const connections = kept.get(origin) ?? [];
  for (let last = connections.pop(); last !== undefined; last = connections.pop()) {
    if (last.isFree()) return last;
  }
  return null;
}

function keep(kept: Map<string, Connection[]>, origin: string, connection: Connection): void {
  const connections = kept.get(origin);
  if (connections === undefined) kept.set(origin, [connection]);
  else connections.push(connection);
}

async function open(
  url: URL,
  { caCerts = [], limited }: FleetHttpOptions,
  signal: AbortSignal,
): Promise<Result<Connection, HttpError>> {
  const isTls = url.protocol === "https:";
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  try {
    if (!isTls) return ok(createConnection(await Deno.connect({ hostname, port, signal })));
    const socket = await Deno.connectTls({ hostname, port, caCerts: [...caCerts] });
    // The handshake would else come with the first byte, and its failure look like a cut.
    await socket.handshake().catch((thrown) => {
      socket.close();
      throw thrown;
    });
    return ok(createConnection(socket));
  } catch (thrown) {
    const limit = ownLimitOf(thrown);
    if (limit !== null) {
      limited?.(limit);
      return fail(httpError("connect", url, OWN_LIMITS[limit]));
    }
    const fault = faultOf(thrown, url);
    return fail(
      fault.code === "cut" ? httpError(isTls ? "tls" : "connect", url, "no connection") : fault,
    );
  }
}

interface Limits {
  /** Waits for a connection, no longer than that may take; `open` is told when nobody waits any more. */
  connecting(
    open: (signal: AbortSignal) => Promise<Result<Connection, HttpError>>,
  ): Promise<Result<Connection, HttpError>>;
  /** What to do when the request has to end early. */
  onEnd(end: () => void): void;
  /** Why it had to, or null. */
  fault(): HttpError | null;
  clear(): void;
}

function openLimits(request: HttpRequest, url: URL, clock: Clock): Limits {
  let fault: HttpError | null = null;
  let ending = () => {};
  const end = (code: HttpError["code"], what: string) => {
    fault ??= httpError(code, url, what);
    ending();
  };
  const onAbort = () => end("aborted", "ended by the agent");
  const onTotal = () => end("timeout", `no complete answer within ${request.totalMs} ms`);
  const total = clock.deadline(request.totalMs);
  total.signal.addEventListener("abort", onTotal);
  request.signal?.addEventListener("abort", onAbort);
  return {
    async connecting(open) {
      const controller = new AbortController();
      const limit = clock.deadline(request.connectMs);
      const onLimit = () => end("connect", `connect timed out after ${request.connectMs} ms`);
      limit.signal.addEventListener("abort", onLimit);
      const ended = Promise.withResolvers<null>();
      ending = () => {
        controller.abort();
        ended.resolve(null);
      };
      const opening = open(controller.signal);
      const opened = await Promise.race([opening, ended.promise]);
      limit.signal.removeEventListener("abort", onLimit);
      limit.clear();
      if (fault === null && opened !== null) return opened;
      void opening.then((late) => late.ok && late.value.close());
      return fail(fault ?? httpError("connect", url, "no connection"));
    },
    onEnd: (then) => void (ending = then),
    fault: () => fault,
    clear() {
      total.signal.removeEventListener("abort", onTotal);
      total.clear();
      request.signal?.removeEventListener("abort", onAbort);
    },
  };
}

function encode(url: URL, request: HttpRequest, version: string): Uint8Array {
  const { method, headers, body } = request;
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (/[^\t\x20-\x7e]/.test(name + value)) {
      throw new TypeError("a header of the request has a name or value that HTTP does not allow");
    }
    head += `${name}: ${value}\r\n`;
  }
  head += `User-Agent: pbx-agent/${version}\r\nAccept: */*\r\n`;
  if (!wantsPlain(request)) head += "Accept-Encoding: gzip\r\n";
  if (body !== undefined || method !== "GET") head += `Content-Length: ${body?.length ?? 0}\r\n`;
  const first = `${head}\r\n`;
  const whole = new Uint8Array(first.length + (body?.length ?? 0));
  new TextEncoder().encodeInto(first, whole);
  if (body !== undefined) whole.set(body, first.length);
  return whole;
}

/** Whether the request says itself what its answer may be encoded with, which is then handed on as it came. */
function wantsPlain({ headers }: HttpRequest): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "accept-encoding");
}

async function decode(
  answer: RawAnswer | "too_large" | "cut",
  url: URL,
  request: HttpRequest,
): Promise<Exchange> {
  const { maxBytes } = request;
  const tooLarge = () => httpError("too_large", url, `the answer is over ${maxBytes} bytes`);
  if (answer === "too_large") return fail(tooLarge());
  if (answer === "cut") return fail(httpError("cut", url, "the connection ended in the middle"));
  const { status, headers } = answer;
  if (wantsPlain(request) || headers["content-encoding"]?.toLowerCase() !== "gzip") {
    return ok({ status, headers, body: answer.body });
  }
  try {
    const stream = new Blob([new Uint8Array(answer.body)]).stream()
      .pipeThrough(new DecompressionStream("gzip"));
    const body = await readLimited(stream, maxBytes, new AbortController().signal);
    return body === null ? fail(tooLarge()) : ok({ status, headers, body });
  } catch {
    return fail(httpError("cut", url, "the answer's gzip is broken"));
  }
}
