import { type Environment, PROXY_VARIABLES } from "./proxy.ts";

/**
 * Whether a client uses a connection again. On a used one Deno sends a request a second time, in
 * silence, when the connection ends without an answer, unless its body is a stream. So what must not
 * arrive twice and has no body goes over a `fresh` one.
 */
export type Connections = "kept" | "fresh";

/** Deno's HTTP clients, one per way: each keeps its own idle connections. */
export interface HttpClients {
  /** The client for a proxy's URL, or for direct connections (null). */
  for(proxy: string | null, connections: Connections): Deno.HttpClient;
  /** Closes idle connections; no client may be used afterwards. */
  close(): void;
}

/** @param caPem certificates trusted beside the runtime's own store */
export function createHttpClients(caPem: string | undefined): HttpClients {
  if (caPem !== undefined && !caPem.includes("-----BEGIN CERTIFICATE-----")) {
    throw new Error("the CA bundle holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
  }
  const clients = new Map<string, Deno.HttpClient>();

  function clientFor(proxy: string | null, connections: Connections): Deno.HttpClient {
    const key = `${connections} ${proxy ?? ""}`;
    let client = clients.get(key);
    if (client === undefined) {
      client = withoutProxyVariables(() =>
        Deno.createHttpClient({
          // One request a connection at a time: ending one early ends nothing else.
          http2: false,
          ...(connections === "kept" ? {} : { poolMaxIdlePerHost: 0 }),
          ...(caPem === undefined ? {} : { caCerts: [caPem] }),
          ...(proxy === null ? {} : { proxy: { url: proxy } }),
        })
      );
      clients.set(key, client);
    }
    return client;
  }

  // Made now, so that a bundle that is no certificate stops the start and not the first request.
  clientFor(null, "kept");

  return {
    for: clientFor,
    close: () => {
      for (const client of clients.values()) client.close();
      clients.clear();
    },
  };
}

/** The proxy variables as they are now. */
export function proxyEnvironment(): Environment {
  return Object.fromEntries(PROXY_VARIABLES.map((name) => [name, Deno.env.get(name)]));
}

/**
 * A client reads the proxy variables when it is made, sends loopback through the proxy and lets NO_PROXY
 * undo an explicit proxy. There is no option against it, so the variables are away for that moment; it
 * is synchronous, so nothing else sees them missing.
 */
export function withoutProxyVariables<T>(make: () => T): T {
  const set = Object.entries(proxyEnvironment()).filter(([, value]) => value !== undefined);
  for (const [name] of set) Deno.env.delete(name);
  try {
    return make();
  } finally {
    for (const [name, value] of set) Deno.env.set(name, value ?? "");
  }
}
