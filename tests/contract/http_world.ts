import { createFakeHttp, type FakeReply } from "../../adapters/fake/http.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";
import type { Http } from "../../core/ports/http.ts";
import { createFleetHttp } from "../../simulate/fleet/http.ts";
import { makeAuthority, makeServerCertificate } from "../lab/certificates.ts";
import type { HttpWorld, PeerScript, SeenRequest } from "./http_contract.ts";
import { hangingUp } from "./hanging_up.ts";
import { type RawHandler, startRawPeer, untilClosed, writeText } from "./raw_peer.ts";

const VERSION = "1.2.3";

/** The fake client; its peer plays the script in memory. */
export function openFakeWorld(): Promise<HttpWorld> {
  const scripts: PeerScript[] = [];
  const http = createFakeHttp({
    clock: createNodeClock(),
    version: VERSION,
    peer: ({ url }) =>
      replyTo(scripts[Number(new URL(url).pathname.slice(1))], http.requests.length),
  });
  return Promise.resolve({
    http,
    url: (script, query = "") => `http://fake.test/${scripts.push(script) - 1}${query}`,
    seen: () =>
      http.requests.map(({ method, url, headers, body }): SeenRequest => ({
        method,
        target: url.slice(new URL(url).origin.length),
        headers: Object.fromEntries(new Headers(headers)),
        body: body ?? new Uint8Array(),
      })),
    close: () => Promise.resolve(),
  });
}

/** @param count requests so far, this one included */
function replyTo(script: PeerScript | undefined, count: number): FakeReply | Promise<FakeReply> {
  switch (script?.kind) {
    case "hangs_up":
      return count % 2 === 1 ? { status: 200 } : { error: "cut" };
    case "answer":
      return script;
    case "silent":
    case "stalled_body":
      return new Promise(() => {});
    case "untrusted":
      return { error: "tls" };
    case "cut_head":
    case "cut_body":
      return { error: "cut" };
    default:
      return { error: "connect" };
  }
}

/** The real client with real servers on loopback. */
export function openNodeWorld(): Promise<HttpWorld> {
  return openRealWorld(createNodeHttp({ version: VERSION, clock: createNodeClock() }));
}

/** The client of simulated agents with the same servers. */
export function openFleetWorld(): Promise<HttpWorld> {
  return openRealWorld(createFleetHttp({ version: VERSION, clock: createNodeClock() }));
}

async function openRealWorld(http: Http & { close(): void }): Promise<HttpWorld> {
  const certificate = await makeServerCertificate(await makeAuthority("Nobody's CA"));
  const scripts: PeerScript[] = [];
  const seen: SeenRequest[] = [];

  const answer = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    seen.push({
      method: request.method,
      target: pathname + search,
      headers: Object.fromEntries(request.headers),
      body: new Uint8Array(await request.arrayBuffer()),
    });
    const script = scripts[Number(pathname.slice(1))];
    if (script?.kind !== "answer") return new Response("no such script", { status: 599 });
    const body = script.status === 204 ? null : script.body ?? "";
    return new Response(body, { status: script.status, headers: script.headers ?? {} });
  };
  const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(quiet, answer);
  const tls = Deno.serve({ ...quiet, ...certificate }, answer);
  const misbehaving = startRawPeer(misbehave);
  const hanging = startRawPeer(hangingUp((request) => seen.push(request)));

  const refusing = freePort();
  const origins: Record<PeerScript["kind"], string> = {
    answer: `http://127.0.0.1:${server.addr.port}`,
    untrusted: `https://127.0.0.1:${tls.addr.port}`,
    refused: `http://127.0.0.1:${refusing}`,
    no_such_name: "http://nobody.invalid",
    hangs_up: `http://127.0.0.1:${hanging.port}`,
    silent: `http://127.0.0.1:${misbehaving.port}/silent`,
    cut_head: `http://127.0.0.1:${misbehaving.port}/cut_head`,
    cut_body: `http://127.0.0.1:${misbehaving.port}/cut_body`,
    stalled_body: `http://127.0.0.1:${misbehaving.port}/stalled_body`,
  };
  return {
    http,
    seen: () => seen,
    url: (script, query = "") => `${origins[script.kind]}/${scripts.push(script) - 1}${query}`,
    async close() {
      http.close();
      await Promise.all([
        server.shutdown(),
        tls.shutdown(),
        misbehaving.close(),
        hanging.close(),
      ]);
    },
  };
}

const misbehave: RawHandler = async (connection, head) => {
  if (head.includes(" /silent/")) return await untilClosed(connection);
  if (head.includes(" /cut_head/")) return await writeText(connection, "HTTP/1.1 200 OK\r\nCont");
  await writeText(connection, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
  if (head.includes(" /stalled_body/")) await untilClosed(connection);
};

/** A port that was free a moment ago. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return listener.addr.port;
}
