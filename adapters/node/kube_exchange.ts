import type { Clock } from "../../core/ports/clock.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { faultOf } from "./http_error.ts";
import type { KubeSession } from "./kube_sessions.ts";
import { readLimited } from "./read_limited.ts";

const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** One request to the Kubernetes API. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query, below the server's URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Limit of the whole exchange, body included, milliseconds. */
  readonly totalMs: number;
}

/** An answer, whatever its status. */
export interface KubeAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

type Exchange = Result<KubeAnswer, string>;

/**
 * One exchange with the API, within its limits of time and size; never rejects. The error is for people
 * and quotes no header or body.
 */
export async function kubeExchange(
  session: KubeSession,
  request: KubeRequest,
  clock: Clock,
): Promise<Exchange> {
  // The deadline is raced: an abort alone does not wake every body that stalls.
  const stop = new AbortController();
  const late = Promise.withResolvers<Exchange>();
  const onDeadline = () => {
    late.resolve(fail(`${session.access.server}: no complete answer in ${request.totalMs} ms`));
    stop.abort();
  };
  const deadline = clock.deadline(request.totalMs);
  deadline.signal.addEventListener("abort", onDeadline);
  try {
    return await Promise.race([send(session, request, stop.signal), late.promise]);
  } finally {
    deadline.signal.removeEventListener("abort", onDeadline);
    deadline.clear();
  }
}

async function send(
  { access, client }: KubeSession,
  request: KubeRequest,
  signal: AbortSignal,
): Promise<Exchange> {
  const url = new URL(access.server + request.path);
  try {
    const response = await fetch(url, {
      method: request.method,
      headers: {
        ...request.headers,
        ...(access.token === undefined ? {} : { Authorization: `Bearer ${access.token.reveal()}` }),
      },
      redirect: "manual",
      client,
      signal,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    const body = response.body === null
      ? new Uint8Array()
      : await readLimited(response.body, MAX_ANSWER_BYTES, signal);
    if (body === null) {
      return fail(`${access.server}: the answer is over ${MAX_ANSWER_BYTES} bytes`);
    }
    return ok({ status: response.status, body });
  } catch (thrown) {
    return fail(faultOf(thrown, url).message);
  }
}
