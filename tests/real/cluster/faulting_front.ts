import { withoutProxyVariables } from "../../../adapters/node/http_clients.ts";
import { makeClientCertificate } from "../../lab/certificates.ts";
import type { KubeApi } from "../../lab/kube_api.ts";

/** Statuses that an API server answers under load, in a conflict, and when it cannot serve just now. */
export const TROUBLES = [429, 409, 503] as const;

/** A status of trouble. */
export type Trouble = (typeof TROUBLES)[number];

/** What goes wrong at the front. */
export interface Fault {
  readonly status: Trouble;
  /** Which requests it hits, by method and path without query. */
  hits(method: string, path: string): boolean;
  /** The API does what it is asked, and only its answer is lost on the way. */
  readonly isDone?: boolean;
}

/** A server before the API server that passes requests on, or answers in its place. */
export interface FaultingFront {
  /** Path of a kubeconfig that leads here. */
  readonly kubeconfig: string;
  fault: Fault | null;
  /** How many requests the fault has hit. */
  readonly hits: number;
  /** `<method> <path>` of each write that came through to the API and was done there, oldest first. */
  readonly writes: readonly string[];
  /** Forgets the writes. */
  forget(): void;
  stop(): Promise<void>;
}

/** How kube-apiserver says it. */
const SAID = {
  429: ["TooManyRequests", "too many requests, please try again later"],
  409: [
    "Conflict",
    "the object has been modified; please apply your changes to the latest version",
  ],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
} as const;

/** The sentence that the front answers with a status. */
export function saidWith(status: Trouble): string {
  return `${status}: ${SAID[status][1]}`;
}

/** Starts a front on loopback, in plain HTTP; it is the administrator to the API. */
export async function startFaultingFront(api: KubeApi): Promise<FaultingFront> {
  const admin = await makeClientCertificate(api.authority, "front", "system:masters");
  const client = withoutProxyVariables(() =>
    Deno.createHttpClient({ caCerts: [api.authority.cert], ...admin, http2: false })
  );
  const seen: { fault: Fault | null; hits: number } = { fault: null, hits: 0 };
  const writes: string[] = [];

  async function pass(request: Request, path: string, query: string): Promise<Response> {
    const { method } = request;
    const body = await request.text();
    const answer = await fetch(`${api.url}${path}${query}`, {
      method,
      client,
      headers: headersOf(request.headers),
      ...(body === "" ? {} : { body }),
    });
    const content = await answer.bytes();
    if (method !== "GET" && answer.ok) writes.push(`${method} ${path}`);
    return new Response(content, { status: answer.status, headers: headersOf(answer.headers) });
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    const { fault } = seen;
    if (fault === null || !fault.hits(request.method, pathname)) {
      return pass(request, pathname, search);
    }
    seen.hits++;
    return fault.isDone === true
      ? pass(request, pathname, search).then(() => refuse(fault.status))
      : refuse(fault.status);
  });
  const directory = await Deno.makeTempDir({ prefix: "pbx-front-" });
  const kubeconfig = `${directory}/kubeconfig`;
  await Deno.writeTextFile(kubeconfig, kubeconfigOf(server.addr.port));
  return {
    kubeconfig,
    get fault() {
      return seen.fault;
    },
    set fault(fault) {
      seen.fault = fault;
    },
    get hits() {
      return seen.hits;
    },
    writes,
    forget: () => void writes.splice(0),
    async stop() {
      await server.shutdown();
      client.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}

function headersOf(headers: Headers): Headers {
  const passed = new Headers();
  for (const name of ["accept", "content-type", "user-agent"]) {
    const value = headers.get(name);
    if (value !== null) passed.set(name, value);
  }
  return passed;
}

function refuse(status: Trouble): Response {
  const [reason, message] = SAID[status];
  const kind = { apiVersion: "v1", kind: "Status", status: "Failure" };
  return Response.json({ ...kind, message, reason, code: status }, {
    status,
    ...(status === 429 ? { headers: { "Retry-After": "1" } } : {}),
  });
}

function kubeconfigOf(port: number): string {
  // JSON is YAML.
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "front", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "front", user: {} }],
    contexts: [{ name: "front", context: { cluster: "front", user: "front" } }],
    "current-context": "front",
  });
}
