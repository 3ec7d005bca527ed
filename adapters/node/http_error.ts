import type { HttpError } from "../../core/ports/http.ts";

/** An HttpError that names the origin and nothing else of a URL: a query may hold a credential. */
export function httpError(code: HttpError["code"], url: URL, what: string): HttpError {
  return { code, message: `${url.origin}: ${what}` };
}

/**
 * What the runtime's words mean: pattern, code, and our own words for it. The runtime's text is never
 * passed on, because it quotes the whole URL.
 */
const FAULTS: readonly (readonly [RegExp, HttpError["code"], string])[] = [
  [/invalid peer certificate: UnknownIssuer/, "tls", "its certificate is from an unknown issuer"],
  [/invalid peer certificate: NotValidForName/, "tls", "its certificate is for another name"],
  [/invalid peer certificate: Expired/, "tls", "its certificate has expired, by this node's clock"],
  [
    /invalid peer certificate: NotValidYet/,
    "tls",
    "its certificate is not valid yet, by this node's clock",
  ],
  [/invalid peer certificate/, "tls", "its certificate is not acceptable"],
  [
    /received corrupt message|tls handshake|alert|rustls|peer .*incompatible/i,
    "tls",
    "the TLS handshake failed",
  ],
  [/proxy authentication required/, "connect", "the proxy asks for other credentials"],
  [/tunnel|proxy/i, "connect", "the proxy did not connect"],
  [/dns error/, "connect", "the name cannot be looked up"],
  [/connection refused/i, "connect", "connection refused"],
  [/no route to host|unreachable/i, "connect", "the network cannot be reached"],
  [/client error \(Connect\)/, "connect", "no connection"],
  [
    /ports? .*blocked/i,
    "connect",
    "the runtime refuses this port (it belongs to another protocol)",
  ],
  [/requires net access/i, "connect", "the runtime's permissions do not cover this host"],
  [/head is too large/, "cut", "the headers of the answer are too large"],
  [/invalid HTTP|parse/i, "cut", "the answer is no HTTP"],
];

/** The HttpError for what `fetch` or the reading of a body threw. */
export function faultOf(thrown: unknown, url: URL): HttpError {
  const text = wordsOf(thrown);
  const fault = FAULTS.find(([pattern]) => pattern.test(text));
  if (fault === undefined) return httpError("cut", url, "the connection ended in the middle");
  return httpError(fault[1], url, fault[2]);
}

/** The message without the URL in it, so that nothing in a path or query is taken for a fault. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "";
  const { cause } = thrown;
  const text = `${thrown.message} ${cause instanceof Error ? cause.message : ""}`;
  return text.replaceAll(/[a-z0-9]+:\/\/\S+/gi, "");
}
