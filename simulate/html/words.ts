import type { AgentState, Endpoint } from "../report/report.ts";

/** What a request is for, for people. */
export const ENDPOINT_WORDS: Readonly<Record<Endpoint, string>> = {
  enroll: "enrollments",
  sync: "reports",
  events: "events of operations",
  manifest: "release manifests",
  rotate_key: "key rotations",
  other: "other",
};

/** What each state of an agent means. */
export const STATE_WORDS: Readonly<Record<AgentState, string>> = {
  waiting: "its turn to begin has not come",
  enrolling: "asks the portal for an identity",
  starting: "starts its node's Kubernetes for the first time",
  synced: "the portal took its last report",
  failing: "its last report failed; it tries again",
  idle: "was refused or revoked for good",
  down: "is switched off, as the profile wants it",
  crashed: "ended with an error: a fault of the agent",
};

/** Colours of the states: good is green, trouble warm, what is out of play grey. */
export const STATE_COLOURS: Readonly<Record<AgentState, number>> = {
  waiting: 9,
  enrolling: 4,
  starting: 1,
  synced: 6,
  failing: 2,
  idle: 5,
  down: 7,
  crashed: 3,
};

/** What an error's code means, where it is one that everybody meets. */
export function codeWords(code: string): string {
  const words = CODES.get(code);
  if (words !== undefined) return words;
  const status = /^http_([0-9]{3})$/.exec(code)?.[1];
  return status === undefined ? "the portal's own code" : `status ${status} without a code`;
}

const CODES: ReadonlyMap<string, string> = new Map([
  ["connect", "no connection"],
  ["tls", "no TLS with the portal"],
  ["timeout", "no answer in time"],
  ["cut", "the connection broke off"],
  ["too_large", "an answer over 256 KiB"],
  ["malformed_answer", "an answer that is none of the protocol"],
  ["answer_lost", "an answer that the profile threw away"],
  ["simulated", "a refusal by the profile, in the portal's place"],
  ["clock_skew", "a timestamp too far off the portal's clock"],
  ["replayed", "a signature that the portal had seen"],
  ["too_many_requests", "more requests than the portal takes"],
  ["internal", "trouble in the portal"],
  ["revoked", "an identity that the portal revoked"],
  ["token_used", "a token that was used before"],
  ["invalid_token", "a token that the portal does not know"],
  ["conflict", "not possible now"],
  ["invalid_request", "a request that the portal does not understand"],
]);

/** A limit in words: `sync.p99<500ms` becomes what it says about what. */
export function limitWords(limit: string): string {
  const [, subject = "", detail = "", compare = "", value = ""] =
    /^([a-z_]+)(?:\.([a-z0-9_.]+))?(<=|>=|<|>)(.+)$/.exec(limit) ?? [];
  const relation = RELATIONS.get(compare);
  if (relation === undefined) return limit;
  const amount = value.replace(/^([0-9.]+)(us|ms|s|%)$/, "$1 $2").replace("us", "µs");
  return `${subjectWords(subject, detail)} ${relation} ${amount}`;
}

const RELATIONS: ReadonlyMap<string, string> = new Map([
  ["<", "under"],
  ["<=", "at most"],
  [">", "over"],
  [">=", "at least"],
]);

function subjectWords(subject: string, detail: string): string {
  if (subject === "errors") return detail === "" ? "failed requests" : `requests with ${detail}`;
  if (subject === "synced") return "agents whose last report was taken";
  if (subject === "enrolled") return "agents that enrolled";
  if (subject === "faults") return "faults of the agent";
  const what = subject === "lateness"
    ? "lateness of the simulator"
    : Object.hasOwn(ENDPOINT_WORDS, subject)
    ? ENDPOINT_WORDS[subject as Endpoint]
    : subject;
  if (detail === "errors") return `failed ${what}`;
  const percentile = /^p([0-9.]+)$/.exec(detail)?.[1];
  return percentile === undefined
    ? `${what}, ${detail === "max" ? "the slowest" : "on average"}`
    : `${what}, ${percentile} % of them`;
}
