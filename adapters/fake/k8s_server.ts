import { type ApiRequest, createKubeApi, type KubeControls } from "./kube_api.ts";
import type { ApiAnswer } from "./kube_status.ts";

/** The fake Kubernetes API on a port of 127.0.0.1. */
export interface FakeK8sServer extends KubeControls {
  readonly url: string;
  /** The kubeconfig for it, as text: the user has a token, the server is plain http on loopback. */
  readonly kubeconfig: string;
  /** Writes the kubeconfig (0600), as k3s does when its API comes up. Its folder must exist. */
  writeKubeconfig(path: string): Promise<void>;
  /** Ends all connections and frees the port. */
  stop(): Promise<void>;
}

/** How the fake API server is started. */
export interface FakeK8sServerOptions {
  /** Milliseconds since the epoch; those of the machine where absent. */
  readonly now?: () => number;
  /** 0: any free port. */
  readonly port?: number;
}

const TOKEN = "fake-k8s-token";

/**
 * Serves the fake API over HTTP: enough for a client that gets, applies, creates, deletes and lists.
 * Requests without its token get 401. While it is `down` every connection ends before its answer is whole.
 */
export function startFakeK8sServer(options: FakeK8sServerOptions = {}): FakeK8sServer {
  const api = createKubeApi(options.now ?? Date.now);
  const stopping = new AbortController();

  async function serve(request: Request): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${TOKEN}`) {
      return json(401, { kind: "Status", reason: "Unauthorized", message: "Unauthorized" });
    }
    const answer = api.handle(await apiRequest(request));
    if (answer !== null) return respond(answer);
    return await broken();
  }

  /** Silence until the server stops, or an answer that is never whole. */
  async function broken(): Promise<Response> {
    const over = Promise.withResolvers<never>();
    const end = () => over.reject(new Error("the fake API gives no answer"));
    stopping.signal.addEventListener("abort", end);
    if (api.fault?.kind === "down") end();
    if (api.fault?.kind === "hang") return await over.promise;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void over.promise.catch((error) => controller.error(error)),
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  }

  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: options.port ?? 0,
    signal: stopping.signal,
    onListen: () => {},
    onError: () => json(500, { kind: "Status", reason: "InternalError", message: "no answer" }),
  }, serve);
  const url = `http://127.0.0.1:${server.addr.port}`;
  const kubeconfig = kubeconfigText(url);
  const { fault: _fault, handle: _handle, ...controls } = api;
  return {
    ...controls,
    url,
    kubeconfig,
    writeKubeconfig: (path) => Deno.writeTextFile(path, kubeconfig, { mode: 0o600 }),
    stop: async () => {
      stopping.abort();
      await server.finished;
    },
  };
}

async function apiRequest(request: Request): Promise<ApiRequest> {
  const url = new URL(request.url);
  return {
    method: request.method,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    contentType: request.headers.get("content-type") ?? "",
    body: await request.text(),
    client: (request.headers.get("user-agent") ?? "unknown").split("/")[0] ?? "",
  };
}

function respond({ status, body }: ApiAnswer): Response {
  return typeof body === "string"
    ? new Response(body, { status, headers: { "content-type": "text/plain; charset=utf-8" } })
    : json(status, body);
}

function json(status: number, body: unknown): Response {
  return Response.json(body, { status });
}

function kubeconfigText(server: string): string {
  return `apiVersion: v1
kind: Config
clusters:
- cluster:
    server: ${server}
  name: default
contexts:
- context:
    cluster: default
    user: default
  name: default
current-context: default
preferences: {}
users:
- name: default
  user:
    token: ${TOKEN}
`;
}
