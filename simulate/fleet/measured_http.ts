import { isJsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Http, HttpAnswer, HttpError } from "../../core/ports/http.ts";
import { parseBody } from "../../core/protocol/json_body.ts";
import { type AnswerWork, verifyAnswer } from "../../core/protocol/answer_signature.ts";
import type { Result } from "../../core/result.ts";
import type { Recorder } from "../report/recorder.ts";
import type { Endpoint } from "../report/report.ts";
import type { AgentWatch } from "./agent_watch.ts";
import type { Weather } from "./weather.ts";
import { requestProofOf } from "../request_proof.ts";

/** What measuring the requests of one agent needs. */
export interface MeasureOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly recorder: Recorder;
  readonly watch: AgentWatch;
  readonly weather: Weather;
  /** Since when nothing but the agent itself has held up its next request (monotonic). */
  readonly dueSince: () => number;
  /** A request is over: what follows is due from now on. */
  readonly ended: (at: number) => void;
  /** The agent's clock is wrong on purpose. */
  readonly isSkewed: () => boolean;
  /** What proves the portal's answers, and by which means; without keys they need no proof. */
  readonly portalKeys: readonly Uint8Array[];
  readonly answerWork: AnswerWork;
}

type Exchange = Result<HttpAnswer, HttpError>;

/** The client of one agent under the profile's weather, with every request told to the recorder. */
export function measureHttp(options: MeasureOptions): Http {
  const { http, clock, recorder, watch, weather } = options;
  return {
    async request(request) {
      const endpoint = endpointOf(request.url);
      if (endpoint === "events") watch.reports(request);
      let due = options.dueSince();
      const fate = weather.draw();
      if (fate.delayMs > 0) {
        await clock.sleep(fate.delayMs, request.signal);
        due = clock.monotonic();
      }
      const sent = clock.monotonic();
      const exchange = fate.reply ?? await http.request(request);
      const ended = clock.monotonic();
      options.ended(ended);
      // Ended by the simulation itself: no answer was due.
      if (!exchange.ok && exchange.error.code === "aborted") return exchange;

      const isProven = await isAsProven(exchange, request.headers, options);
      const succeeded = exchange.ok && exchange.value.status >= 200 &&
        exchange.value.status < 300 && isProven;
      const code = succeeded ? "" : isProven ? codeOf(exchange) : "answer_unproven";
      const isOurs = fate.kind !== "none" || (code === "clock_skew" && options.isSkewed());
      const outcome = succeeded && fate.kind === "none" ? { kind: "success" } as const : {
        kind: isOurs ? "provoked" : "error",
        code: code === "" ? "answer_lost" : code,
      } as const;
      recorder.request({ endpoint, due, sent, ended, outcome });
      watch.answered(endpoint, succeeded && fate.kind === "none");
      if (fate.kind !== "answer_lost") return exchange;
      return { ok: false, error: { code: "cut", message: "the answer was lost by the profile" } };
    },
  };
}

/** Whether agents use the answer as it is: nothing of one under 500 that no key proves. */
async function isAsProven(
  exchange: Exchange,
  headers: Readonly<Record<string, string>>,
  { portalKeys, answerWork }: Pick<MeasureOptions, "portalKeys" | "answerWork">,
): Promise<boolean> {
  if (portalKeys.length === 0 || !exchange.ok || exchange.value.status >= 500) return true;
  const request = requestProofOf(headers);
  // Not the portal's: the metadata service, for example.
  if (request === null) return true;
  const { status, headers: proof, body } = exchange.value;
  return (await verifyAnswer({ status, body, request }, proof, portalKeys, answerWork)).ok;
}

function endpointOf(url: string): Endpoint {
  if (url.endsWith("/sync")) return "sync";
  if (url.endsWith("/enroll")) return "enroll";
  if (url.endsWith("/rotate-key")) return "rotate_key";
  if (/\/operations\/[^/]+\/events$/.test(url)) return "events";
  return /\/releases\/[^/]+\/manifest$/.test(url) ? "manifest" : "other";
}

/** The portal's own code, or the status; the transport's where there was no answer. */
function codeOf(exchange: Exchange): string {
  if (!exchange.ok) return exchange.error.code;
  const body = parseBody(exchange.value.body);
  const error = body.ok && isJsonObject(body.value) ? body.value["error"] : undefined;
  const code = isJsonObject(error ?? null) ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^[a-z0-9_]{1,64}$/.test(code)
    ? code
    : `http_${exchange.value.status}`;
}
