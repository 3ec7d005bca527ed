import type { Clock } from "../../core/ports/clock.ts";
import type { Http, HttpAnswer, HttpError, HttpRequest } from "../../core/ports/http.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { connectTimedOut } from "./connect_watch.ts";
import { createHttpClients, proxyEnvironment } from "./http_clients.ts";
import { faultOf, httpError } from "./http_error.ts";
import { type Environment, portOf, proxyFor } from "./proxy.ts";
import { readLimited } from "./read_limited.ts";

/** What the HTTP client is made of. */
export interface NodeHttpOptions {
  /** The agent's version, for `User-Agent`. */
  readonly version: string;
  /** Certificates (PEM, one or more) trusted beside the runtime's own; `ca_file` of the configuration. */
  readonly caPem?: string;
  readonly clock: Clock;
  /** The proxy variables; those of the process where absent. Read once. */
  readonly environment?: Environment;
}

/** The HTTP client of a node, with an end for tests. */
export interface NodeHttp extends Http {
  /** Closes idle connections. */
  close(): void;
}

const ABORTED = "ended by the agent";

type Exchange = Result<HttpAnswer, HttpError>;

/**
 * The HTTP client of a node, on `fetch` (protocol §1): no redirects, nothing sent twice, every limit
 * enforced while the answer arrives, connections kept for the next request with a body.
 *
 * Throws when `caPem` holds no certificate, and for a request that is no HTTP (a fault of the caller).
 */
export function createNodeHttp(options: NodeHttpOptions): NodeHttp {
  const { clock } = options;
  const clients = createHttpClients(options.caPem);
  const environment = options.environment ?? proxyEnvironment();

  async function request(request: HttpRequest): Promise<Exchange> {
    const url = parseUrl(request.url);
    const headers = headersOf(request, options.version);
    const route = proxyFor(url, environment);
    if (route.kind === "invalid") {
      return fail(httpError("connect", url, `${route.variable} holds no proxy URL`));
    }
    if (request.signal?.aborted) return fail(httpError("aborted", url, ABORTED));
    const peer = route.kind === "proxy" ? new URL(route.url) : url;

    // Not `AbortSignal.any` or `.timeout`: the first leaks below a long-lived signal, the second has
    // ended whole processes. `stopped` is raced, because an abort does not wake every stalled body.
    const stop = new AbortController();
    const stopped = Promise.withResolvers<Exchange>();
    const end = (code: HttpError["code"], what: string) => {
      stopped.resolve(fail(httpError(code, url, what)));
      stop.abort();
    };
    const onAbort = () => end("aborted", ABORTED);
    const onDeadline = () => end("timeout", `no complete answer within ${request.totalMs} ms`);
    const deadline = clock.deadline(request.totalMs);
    const answered = new AbortController();
    deadline.signal.addEventListener("abort", onDeadline);
    request.signal?.addEventListener("abort", onAbort);
    try {
      const exchange = send(url, request, {
        client: clients.for(
          route.kind === "proxy" ? route.url : null,
          hasBody(request) ? "kept" : "fresh",
        ),
        headers,
        signal: stop.signal,
        onHeaders: () => answered.abort(),
      });
      const target = { hostname: peer.hostname.replace(/^\[(.*)\]$/, "$1"), port: portOf(peer) };
      connectTimedOut(target, request.connectMs, clock, answered.signal).then((timedOut) => {
        if (timedOut) end("connect", `connect timed out after ${request.connectMs} ms`);
      });
      return await Promise.race([exchange, stopped.promise]);
    } finally {
      answered.abort();
      deadline.signal.removeEventListener("abort", onDeadline);
      deadline.clear();
      request.signal?.removeEventListener("abort", onAbort);
    }
  }

  return { request, close: clients.close };
}

interface Sending {
  readonly client: Deno.HttpClient;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** Called when the answer's headers are there. */
  readonly onHeaders: () => void;
}

/** One exchange. Never rejects; after `signal` its outcome means nothing, but it still frees the body. */
async function send(url: URL, request: HttpRequest, sending: Sending): Promise<Exchange> {
  try {
    const response = await fetch(url, {
      method: request.method,
      headers: sending.headers,
      redirect: "manual",
      client: sending.client,
      signal: sending.signal,
      // A Blob: sent with its length like bytes, but as a stream, which the runtime cannot send again.
      ...(hasBody(request) ? { body: new Blob([new Uint8Array(request.body)]) } : {}),
    });
    sending.onHeaders();
    const body = response.body === null
      ? new Uint8Array()
      : await readLimited(response.body, request.maxBytes, sending.signal);
    if (body === null) {
      return fail(httpError("too_large", url, `the answer is over ${request.maxBytes} bytes`));
    }
    const headers = Object.fromEntries(response.headers);
    return ok({ status: response.status, headers, body });
  } catch (thrown) {
    return fail(faultOf(thrown, url));
  }
}

function hasBody(request: HttpRequest): request is HttpRequest & { readonly body: Uint8Array } {
  return request.body !== undefined && request.body.length > 0;
}

function headersOf(request: HttpRequest, version: string): Headers {
  let headers;
  try {
    headers = new Headers(request.headers);
  } catch {
    // The runtime's message quotes the value, which may be a secret.
    throw new TypeError("a header of the request has a name or value that HTTP does not allow");
  }
  headers.set("User-Agent", `pbx-agent/${version}`);
  // Named, because runtimes differ in what they decode unasked. Where `identity` was asked and not given,
  // the bytes are handed on as they came, with their Content-Encoding.
  if (!headers.has("Accept-Encoding")) headers.set("Accept-Encoding", "gzip");
  return headers;
}

function parseUrl(text: string): URL {
  if (URL.canParse(text)) {
    const url = new URL(text);
    if (url.protocol === "http:" || url.protocol === "https:") return url;
  }
  throw new TypeError("the URL of a request must be absolute, http or https");
}
