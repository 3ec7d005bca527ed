import type { Answer } from "../../adapters/portal/http/message.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import { storedRevision } from "./stored_state.ts";
import type { Watched } from "./watched.ts";

/** At least so many signatures of one node are remembered: hours of it. */
const REMEMBERED = 256;
/** The backoff's first step is 5 s, less a fifth by chance; milliseconds. */
const LEAST_BACKOFF_MS = 3_990;

/** What an agent sends: never the same signature, never too early, never what it has not stored. */
export function watchSending({ timeline, node, broken }: Watched) {
  let young = new Set<string>();
  let old = new Set<string>();
  /** By kind of request: not before this moment, and why. */
  let notBefore = new Map<string, { readonly at: number; readonly why: string }>();
  let reported = "";

  function checkSignature({ headers, url }: HttpRequest): void {
    const signature = headers["PBX-Signature"];
    if (signature === undefined) return;
    if (young.has(signature) || old.has(signature)) {
      broken("no_signature_twice", `${url} is signed as before`);
    }
    young.add(signature);
    if (young.size < REMEMBERED) return;
    old = young;
    young = new Set();
  }

  function checkReport({ body }: HttpRequest): void {
    const text = UTF8.decode(body);
    const revision = /"desired":\{"revision":([0-9]+)/.exec(text)?.[1] ?? "null";
    if (revision === reported) return;
    const stored = String(storedRevision(node));
    if (stored !== revision) {
      broken("only_what_is_stored", `it reports revision ${revision}, state.json has ${stored}`);
    }
    reported = revision;
  }

  return {
    /** A fresh process may not know what the one before was told a moment before its end. */
    onStart() {
      notBefore = new Map();
      reported = "";
    },
    onSend(request: HttpRequest): void {
      checkSignature(request);
      const kind = kindOf(request);
      const limit = notBefore.get(kind);
      if (limit !== undefined && timeline.elapsed() < limit.at) {
        const early = Math.round(limit.at - timeline.elapsed());
        broken("waits_as_told", `${kind} is asked ${early} ms too early: ${limit.why}`);
      }
      if (kind === "sync") checkReport(request);
    },
    onReceive(request: HttpRequest, { status, headers }: Answer): void {
      const kind = kindOf(request);
      if (kind === "other") return;
      notBefore.delete(kind);
      const now = timeline.elapsed();
      if (status === 429) {
        const seconds = Number(headers["retry-after"]);
        const why = `it was told to wait ${seconds} s`;
        notBefore.set(kind, { at: now + seconds * 1000, why });
      } else if (status >= 500) {
        notBefore.set(kind, { at: now + LEAST_BACKOFF_MS, why: `the answer was ${status}` });
      }
    },
  };
}

const UTF8 = new TextDecoder();

/** What shares a backoff. */
function kindOf({ url }: HttpRequest): string {
  if (url.endsWith("/sync")) return "sync";
  // An agent that syncs may ask for another answer to its enrollment; that has a backoff of its own.
  if (url.endsWith("/enroll")) return "enrollment";
  if (url.endsWith("/events")) return "events";
  return url.endsWith("/manifest") ? "manifests" : "other";
}
