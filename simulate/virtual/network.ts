import type { Answer } from "../../adapters/portal/http/message.ts";
import type { Http, HttpAnswer, HttpError, HttpRequest } from "../../core/ports/http.ts";
import type { Random } from "../../core/ports/random.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { drawDelay, type NodeProfile } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";
import type { Timeline } from "./timeline.ts";

/** How one request reaches the portal: null where nobody is there. `again`: a copy of one before. */
export type Deliver = (request: HttpRequest, version: string, again: boolean) => Answer | null;

/** The link between one node and the portal. */
export interface Link {
  /** A client for a program of this version. */
  http(version: string): Http;
  /** Nothing gets through while true. */
  isCut: boolean;
}

/** What a link is made of. */
export interface LinkOptions {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly node: NodeProfile;
  readonly network: Profile["network"];
  /** Whether messages may be lost or come twice now. */
  readonly hasFaults: () => boolean;
  readonly deliver: Deliver;
  /** Hears of a fault, in words. */
  readonly onFault: (what: string) => void;
  readonly onSend: (request: HttpRequest) => void;
  /** An answer has come back to the agent. */
  readonly onReceive: (request: HttpRequest, answer: Answer) => void;
}

/** A link that delays, loses and repeats messages as its profile says. */
export function createLink(options: LinkOptions): Link {
  const { timeline, random, node, network, hasFaults, deliver } = options;
  const link: Link = {
    isCut: false,
    http: (version) => ({ request: (one) => send(one, version) }),
  };

  function delay(): number {
    return drawDelay(node.delay, random) / 2;
  }

  function send(
    request: HttpRequest,
    version: string,
  ): Promise<Result<HttpAnswer, HttpError>> {
    const { signal } = request;
    if (signal?.aborted) return Promise.resolve(failed("aborted"));
    options.onSend(request);
    return new Promise((resolve) => {
      let cancel = () => {};
      const forget = signal === undefined
        ? () => {}
        : timeline.aborts.on(signal, () => end(failed("aborted")));
      function end(result: Result<HttpAnswer, HttpError>): void {
        cancel();
        forget();
        resolve(result);
      }
      function endIn(ms: number, result: Result<HttpAnswer, HttpError>): void {
        cancel = timeline.after(ms, () => end(result));
      }

      // Always as many draws, whatever becomes of them: one fault more must not shift all that follows.
      const [there, back] = [delay(), delay()];
      const fate = hasFaults() ? fateOf(random.fraction(), network) : "arrives";
      if (link.isCut) return endIn(request.connectMs, failed("connect"));
      if (there + back >= request.totalMs) return endIn(request.totalMs, failed("timeout"));
      if (fate !== "arrives") {
        options.onFault(`${request.method} ${pathOf(request)}: ${WORDS[fate]}`);
      }
      if (fate === "lost_request") return endIn(request.totalMs, failed("timeout"));
      const arrive = () => {
        if (fate === "overtaken") void deliver(request, version, true);
        const answer = deliver(request, version, false);
        if (answer === null) return endIn(back, failed("connect"));
        if (fate === "duplicate") {
          timeline.after(back, () => void deliver(request, version, true));
        }
        if (fate === "lost_answer") return endIn(back, failed("cut"));
        cancel = timeline.after(back, () => {
          options.onReceive(request, answer);
          end(received(answer, request, timeline));
        });
      };
      cancel = timeline.after(there, arrive);
    });
  }

  return link;
}

/** `overtaken`: of two copies the portal gets the other one first, and takes this one for a replay. */
type Fate = "arrives" | "lost_request" | "lost_answer" | "duplicate" | "overtaken";

const WORDS: Readonly<Record<Exclude<Fate, "arrives">, string>> = {
  lost_request: "the request is lost",
  lost_answer: "its answer is lost",
  duplicate: "the portal gets it twice",
  overtaken: "a copy of it arrives before",
};

function fateOf(by: number, network: Profile["network"]): Fate {
  const { lost_requests, lost_answers, duplicates } = network;
  if (by < lost_requests) return "lost_request";
  if (by < lost_requests + lost_answers) return "lost_answer";
  const lost = lost_requests + lost_answers;
  if (by < lost + duplicates / 2) return "overtaken";
  return by < lost + duplicates ? "duplicate" : "arrives";
}

function received(
  { status, headers, body }: Answer,
  request: HttpRequest,
  timeline: Timeline,
): Result<HttpAnswer, HttpError> {
  if (body.length > request.maxBytes) return failed("too_large");
  if (status !== 429) return ok({ status, headers, body });
  const date = new Date(timeline.clock.now()).toUTCString();
  return ok({ status, headers: { ...headers, date }, body });
}

function pathOf({ url }: HttpRequest): string {
  return url.slice(url.indexOf("/", "https://".length)).replace("/agent/v1", "");
}

function failed(
  code: HttpError["code"],
): { readonly ok: false; readonly error: HttpError } {
  return fail({ code, message: `https://agents.example.com: ${code} (simulated)` });
}
