import type { Answer } from "../../adapters/portal/http/message.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import { activeAgent } from "../../adapters/portal/state.ts";
import { tagOf } from "../../adapters/portal/sync.ts";
import { storedState } from "./stored_state.ts";
import type { Watched } from "./watched.ts";

/** As far as a timestamp may be off (protocol §1), less what a request may take, milliseconds. */
const MAX_SKEW_MS = 50_000;
/** A new time is confirmed within this, milliseconds: a minute of its answers, and a cycle more. */
const SETTLED_MS = 120_000;
/** Answers of 401 that one process may get: by either key, and for what was under way. */
const MOST_REVOKED = 4;
/** A revoked agent asks again no sooner than this, milliseconds; an answer may come twice within it. */
const REVOKED_QUIET_MS = 45 * 60_000;

/** What the portal's own rules say to a request: an agent never breaks one. */
export function watchAnswers(watched: Watched) {
  const { timeline, portal, portalClock, owner, node, broken } = watched;
  const { cluster } = portal;
  const tags = new Map<number, unknown>();
  let breaches = 0;
  let refused = 0;

  const bootstrapToken = String(
    (((cluster.bootstrap["secrets"] as JsonObject)["hcloud"] as JsonObject)[
      "token"
    ] as JsonObject)["plain"],
  );

  /** What it says it has accepted is a document that was offered, under its own tag. */
  function checkReport(): void {
    const agent = activeAgent(portal.portal.state, node.name.clusterId, node.name.nodeName);
    const report = agent?.report;
    if (!isJsonObject(report ?? null)) return;
    const { revision, tag } = (report as JsonObject)["desired"] as JsonObject;
    if (revision === null) return;
    const document = owner.offered.get(Number(revision));
    if (document === undefined) {
      return broken("only_what_was_offered", `it accepted revision ${revision}`);
    }
    const known = tags.get(Number(revision)) ??
      tagOf(portal.portal, { document, raw: true, tag: undefined });
    tags.set(Number(revision), known);
    if (known !== tag) broken("only_what_was_offered", `revision ${revision} has the tag ${tag}`);
  }

  /** Requests of which a copy has arrived before. */
  const overtaken = new WeakSet<HttpRequest>();

  function isExpected(request: HttpRequest, status: number, code: string): boolean {
    if (code === "replayed") return overtaken.has(request);
    if (status < 400 || code === "clock_skew") return true;
    if (status === 401) return !request.url.endsWith("/enroll");
    return code === "unknown_release";
  }

  /** How far ahead of the portal's the clock was that state.json has the offset of; null: not known. */
  let keptFor: number | null = null;
  let isLearning = false;
  let refusedAt = -Infinity;
  /** When a clock showed another time last, milliseconds since the beginning. */
  let steppedAt = -Infinity;
  /** How far ahead the portal's clock was when it made an answer. */
  const madeAhead = new WeakMap<HttpRequest, number>();

  /** What a 409 taught is in the file by the next success, and counts from then on. */
  function checkOffset(request: HttpRequest, { status }: Answer): void {
    const ahead = node.clockAhead() - (madeAhead.get(request) ?? 0);
    if (status === 409 && keptFor === ahead) {
      broken("offset_is_kept", `the clock is ${ahead} ms ahead, which a 409 has taught before`);
    }
    // What an answer of another time taught has taken its place.
    if (keptFor !== null && keptFor !== ahead) keptFor = null;
    if (status === 409) isLearning = true;
    if (status !== 200 || !isLearning || !request.url.endsWith("/sync")) return;
    isLearning = false;
    // Where the disk takes nothing it is not there, and cannot be.
    const stored = Number(storedState(node)?.clock_offset_ms);
    const isSettled = timeline.elapsed() - steppedAt > SETTLED_MS;
    keptFor = isSettled && Math.abs(stored + ahead) < MAX_SKEW_MS ? ahead : null;
  }

  return {
    /** The agent got an answer. */
    onReceive(request: HttpRequest, answer: Answer): void {
      checkOffset(request, answer);
      // A bad signature is refused too, while a rotation of keys is under way.
      if (answer.status !== 401 || errorOf(answer).code !== "revoked") return;
      const now = timeline.elapsed();
      if (now - refusedAt > REVOKED_QUIET_MS) refused = 0;
      refusedAt = now;
      if (++refused > MOST_REVOKED) {
        broken("revoked_is_silent", `it was told ${refused} times in a row that it is revoked`);
      }
    },
    bootstrapToken,
    onStart() {
      refused = 0;
    },
    /** A time that contradicts the one before is kept once it was confirmed. */
    onStep() {
      steppedAt = timeline.elapsed();
      keptFor = null;
    },
    onStateLost() {
      keptFor = null;
      isLearning = false;
    },
    onAnswer(request: HttpRequest, answer: Answer, again: boolean): void {
      madeAhead.set(request, portalClock.ahead());
      const { status } = answer;
      const { code, message } = status < 400 ? NO_ERROR : errorOf(answer);
      // A copy that the network made is a replay, and none of the agent's doing.
      if (again) return void overtaken.add(request);
      if (!isExpected(request, status, code)) {
        broken("keeps_the_protocol", `${request.url}: ${status} ${code}: ${message}`);
      }
      const all = portal.portal.memory.breaches;
      if (all.length > breaches) {
        breaches = all.length;
        broken("keeps_the_protocol", `${all.at(-1)?.rule}: ${all.at(-1)?.message}`);
      }
      if (status === 200 && request.url.endsWith("/sync")) checkReport();
    },
  };
}

const NO_ERROR = { code: "", message: "" };

function errorOf({ body }: Answer): { readonly code: string; readonly message: string } {
  const parsed = JSON.parse(new TextDecoder().decode(body));
  return { code: String(parsed?.error?.code), message: String(parsed?.error?.message) };
}
