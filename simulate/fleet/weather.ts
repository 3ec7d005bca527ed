import type { HttpAnswer, HttpError } from "../../core/ports/http.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import type { Random } from "../../core/ports/random.ts";
import { drawDelay, type NodeProfile } from "../profile/node_profile.ts";
import type { Profile } from "../profile/profile.ts";

/**
 * What the profile does to one request. `lost`, `outage`, `partition`: it never reaches the portal.
 * `answer_lost`: the portal acts, and the agent never hears. `replaced`: something on the way answers.
 */
export interface Fate {
  readonly kind: "none" | "lost" | "outage" | "partition" | "answer_lost" | "replaced";
  /** Of the link, on top of the real one. */
  readonly delayMs: number;
  /** What the agent gets in the place of an answer of the portal, which is then not asked; or null. */
  readonly reply: Result<HttpAnswer, HttpError> | null;
}

/** The network between one agent and the portal, as the profile wants it. */
export interface Weather {
  draw(): Fate;
  /** Nothing gets through while true. */
  isCut: boolean;
}

/** What a fleet's weather is made of. */
export interface WeatherOptions {
  readonly profile: Profile;
  readonly node: NodeProfile;
  readonly random: Random;
  /** Milliseconds since the run began, and how long it is. */
  readonly elapsed: () => number;
  readonly durationMs: number;
  readonly happened: (what: string) => void;
}

/**
 * The weather of one agent in real time: the network itself is the real one, so only slow links get a
 * delay on top. Faults end at `faults.until`, outages when they are over.
 */
export function createWeather(options: WeatherOptions): Weather {
  const { profile: { network, portal, faults, nodes }, node, random, elapsed } = options;
  const isSlow = nodes.slow > 0 && node.delay === network.slow_delay;
  const losses = {
    request: Math.min(1, network.lost_requests * node.factor),
    answer: Math.min(1, network.lost_answers * node.factor),
  };
  const mischief = losses.request + losses.answer + portal.errors_503 + portal.errors_429 +
    portal.garbled;
  function hit(): Pick<Fate, "kind" | "reply"> | null {
    const dice = random.fraction();
    let edge = losses.request;
    if (dice < edge) return { kind: "lost", reply: noReply("cut") };
    if (dice < (edge += losses.answer)) return { kind: "answer_lost", reply: null };
    if (dice < (edge += portal.errors_503)) return replaced(503, {}, REFUSED);
    if (dice < (edge += portal.errors_429)) return replaced(429, { "retry-after": "5" }, REFUSED);
    return dice < edge + portal.garbled ? replaced(200, {}, '{"time": "20') : null;
  }

  const weather: Weather = {
    isCut: false,
    draw() {
      const now = elapsed();
      const share = now / options.durationMs;
      const outage = portal.outages.some(({ at, minutes }) =>
        share >= at && now < at * options.durationMs + minutes * 60_000
      );
      const delayMs = isSlow ? drawDelay(node.delay, random) : 0;
      if (outage) return { kind: "outage", reply: noReply("connect"), delayMs };
      if (weather.isCut) return { kind: "partition", reply: noReply("connect"), delayMs };
      if (share >= faults.until) return { kind: "none", reply: null, delayMs };
      const fate = mischief > 0 ? hit() : null;
      if (fate === null) return { kind: "none", reply: null, delayMs };
      options.happened(fate.kind);
      return { ...fate, delayMs };
    },
  };
  return weather;
}

const REFUSED = '{"error":{"code":"simulated","message":"by the profile"}}';

function noReply(code: HttpError["code"]): Fate["reply"] {
  return fail({ code, message: "the profile wants it so" });
}

function replaced(
  status: number,
  headers: Record<string, string>,
  body: string,
): Pick<Fate, "kind" | "reply"> {
  const answer = {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: new TextEncoder().encode(body),
  };
  return { kind: "replaced", reply: ok(answer) };
}
