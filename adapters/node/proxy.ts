import { isLoopbackHost } from "../../core/protocol/loopback.ts";
import { bypassesProxy } from "./no_proxy.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable that {@link proxyFor} reads, and that Deno's own client would read. */
export const PROXY_VARIABLES = [
  "https_proxy",
  "HTTPS_PROXY",
  "http_proxy",
  "HTTP_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "no_proxy",
  "NO_PROXY",
] as const;

/** The way to a URL. `invalid`: the named variable holds no proxy URL, and going direct would be a guess. */
export type Route =
  | { readonly kind: "direct" }
  | { readonly kind: "proxy"; readonly url: string }
  | { readonly kind: "invalid"; readonly variable: string };

/** The metadata service answers for the machine that asks, so a proxy's answer would be another's. */
const METADATA_HOST = "169.254.169.254";

const PROXY_PROTOCOLS = ["http:", "https:", "socks5:", "socks5h:"];

/**
 * The way to `url` that the usual proxy variables ask for (protocol §1). Loopback and the metadata
 * service are always direct. The variable of the URL's scheme comes before ALL_PROXY, lower case before
 * upper case; an empty one counts as absent. A proxy without a scheme is an http proxy.
 */
export function proxyFor(url: URL, environment: Environment): Route {
  if (isLoopbackHost(url.hostname) || url.hostname === METADATA_HOST) return { kind: "direct" };
  const noProxy = environment["no_proxy"] || environment["NO_PROXY"] || "";
  if (bypassesProxy(url.hostname, portOf(url), noProxy)) return { kind: "direct" };
  const scheme = url.protocol === "https:" ? "https_proxy" : "http_proxy";
  for (const variable of [scheme, scheme.toUpperCase(), "all_proxy", "ALL_PROXY"]) {
    const value = environment[variable]?.trim() ?? "";
    if (value === "") continue;
    const proxy = parseProxy(value);
    return proxy === null ? { kind: "invalid", variable } : { kind: "proxy", url: proxy };
  }
  return { kind: "direct" };
}

/** The port a URL names or means. */
export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  const known: Record<string, number> = { "https:": 443, "socks5:": 1080, "socks5h:": 1080 };
  return known[url.protocol] ?? 80;
}

function parseProxy(value: string): string | null {
  const text = value.includes("://") ? value : `http://${value}`;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  return PROXY_PROTOCOLS.includes(url.protocol) && url.hostname !== "" ? url.href : null;
}
