import type { Clock } from "../../core/ports/clock.ts";
import type { Http, HttpAnswer, HttpError, HttpRequest } from "../../core/ports/http.ts";
import { fail, ok, type Result } from "../../core/result.ts";

/** What a scripted peer does: an answer, or the error that the client would come to. */
export type FakeReply =
  | {
    readonly status: number;
    /** Names in any case. */
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: Uint8Array | string;
  }
  | { readonly error: HttpError["code"] };

/** Answers a request. A promise that never resolves is a peer that never answers. */
export type FakePeer = (request: HttpRequest) => FakeReply | Promise<FakeReply>;

/** What the fake client is made of. */
export interface FakeHttpOptions {
  /** Where the time limits run; simulated time will do. */
  readonly clock: Clock;
  readonly peer: FakePeer;
  /** The agent's version, for `User-Agent`. Default `0.0.0`. */
  readonly version?: string;
}

/** An HTTP client without a network. */
export interface FakeHttp extends Http {
  /** Every request that reached the peer, headers as sent. */
  readonly requests: readonly HttpRequest[];
}

/** An HTTP client whose one peer is a function. Limits and signal hold as on a network. */
export function createFakeHttp(options: FakeHttpOptions): FakeHttp {
  const { clock, peer } = options;
  const requests: HttpRequest[] = [];

  async function request(request: HttpRequest): Promise<Result<HttpAnswer, HttpError>> {
    const { signal } = request;
    const failed = (code: HttpError["code"]) => fail(scriptedError(code, request.url));
    if (signal?.aborted) return failed("aborted");
    const sent = {
      ...request,
      headers: { ...request.headers, "User-Agent": `pbx-agent/${options.version ?? "0.0.0"}` },
    };
    requests.push(sent);

    const stopped = Promise.withResolvers<FakeReply>();
    const onAbort = () => stopped.resolve({ error: "aborted" });
    const onDeadline = () => stopped.resolve({ error: "timeout" });
    const deadline = clock.deadline(request.totalMs);
    deadline.signal.addEventListener("abort", onDeadline);
    signal?.addEventListener("abort", onAbort);
    try {
      const reply = await Promise.race([peer(sent), stopped.promise]);
      if ("error" in reply) return failed(reply.error);
      const body = bytesOf(reply.body ?? "");
      if (body.length > request.maxBytes) return failed("too_large");
      return ok({ status: reply.status, headers: lowerCase(reply.headers ?? {}), body });
    } finally {
      deadline.signal.removeEventListener("abort", onDeadline);
      deadline.clear();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  return { request, requests };
}

function scriptedError(code: HttpError["code"], url: string): HttpError {
  return { code, message: `${new URL(url).origin}: ${code} (scripted)` };
}

function bytesOf(body: Uint8Array | string): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
