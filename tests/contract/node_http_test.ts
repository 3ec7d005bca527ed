import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeHttp } from "../../adapters/node/http.ts";
import type { HttpRequest } from "../../core/ports/http.ts";
import { makeAuthority, makeServerCertificate } from "../lab/certificates.ts";
import { eventually, openSockets } from "./open_sockets.ts";
import { startRawPeer, untilClosed } from "./raw_peer.ts";

const QUIET = { hostname: "127.0.0.1", port: 0, onListen() {} };

function open(caPem?: string) {
  const trust = caPem === undefined ? {} : { caPem };
  return createNodeHttp({ version: "1.2.3", clock: createNodeClock(), environment: {}, ...trust });
}

function get(url: string, limits: Partial<HttpRequest> = {}): HttpRequest {
  const generous = { totalMs: 20_000, connectMs: 10_000, maxBytes: 262_144 };
  return { method: "GET", url, headers: {}, ...generous, ...limits };
}

/** A gzip stream of `megabytes` of zeros. */
async function gzipOfZeros(megabytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const zeros = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      if (megabytes-- > 0) controller.enqueue(new Uint8Array(1_000_000));
      else controller.close();
    },
  });
  const packed = new Response(zeros.pipeThrough(new CompressionStream("gzip")));
  return new Uint8Array(await packed.arrayBuffer());
}

Deno.test("createNodeHttp: the limit counts decoded bytes, so a gzip bomb is too large", async () => {
  const bomb = await gzipOfZeros(40);
  assert.ok(bomb.length < 262_144);
  const headers = { "Content-Encoding": "gzip" };
  const server = Deno.serve(QUIET, () => new Response(bomb, { headers }));
  const http = open();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const over = await http.request(get(url));
  assert.equal(over.ok ? "" : over.error.code, "too_large");
  const whole = await http.request(get(url, { maxBytes: 40_000_000 }));
  assert.equal(whole.ok && whole.value.body.length, 40_000_000);
  http.close();
  await server.shutdown();
});

Deno.test("createNodeHttp: an endless body is left at the limit", async () => {
  let cancelled = 0;
  const server = Deno.serve(QUIET, () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(16_384)),
        cancel: () => void cancelled++,
      }),
    ));
  const http = open();
  const result = await http.request(get(`http://127.0.0.1:${server.addr.port}/`));
  assert.equal(result.ok ? "" : result.error.code, "too_large");
  await server.shutdown();
  assert.equal(cancelled, 1, "the server must see that nobody reads on");
  http.close();
});

Deno.test("createNodeHttp: caPem adds trust", async () => {
  const authority = await makeAuthority("Test CA");
  const other = await makeAuthority("Other CA");
  const certificate = await makeServerCertificate(authority);
  const server = Deno.serve({ ...QUIET, ...certificate }, () => new Response("in private"));
  const url = `https://127.0.0.1:${server.addr.port}/`;
  for (
    const [caPem, code] of [[`${other.cert}\n${authority.cert}`, "ok"], [
      other.cert,
      "tls",
    ]] as const
  ) {
    const http = open(caPem);
    const result = await http.request(get(url));
    assert.equal(result.ok ? "ok" : result.error.code, code);
    http.close();
  }
  await server.shutdown();
});

Deno.test("createNodeHttp: caPem without a certificate is refused at once", () => {
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const caPem of ["", "no certificate", broken]) assert.throws(() => open(caPem), Error);
});

Deno.test("createNodeHttp: a header that is none is the caller's fault and is not quoted", async () => {
  const http = open();
  const request = get("http://127.0.0.1:9/", { headers: { "X-Key": "hidden\n" + "hidden" } });
  await assert.rejects(
    http.request(request),
    (error: Error) => error instanceof TypeError && !error.message.includes("hidden"),
  );
  http.close();
});

Deno.test("createNodeHttp: a peer that takes no connection is left at the connect limit", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
  const { port } = listener.addr;
  const crowd = await fillBacklog(port);
  const http = open();
  const result = await http.request(get(`http://127.0.0.1:${port}/`, { connectMs: 100 }));
  assert.equal(result.ok ? "" : result.error.code, "connect");
  assert.match(result.ok ? "" : result.error.message, /connect timed out/);
  http.close();
  for (const connection of crowd) connection.close();
  listener.close();
});

Deno.test("createNodeHttp: a peer that is connected but slow has until the total limit", async () => {
  const server = Deno.serve(QUIET, async () => {
    await new Promise((resolve) => setTimeout(resolve, 250));
    return new Response("at last");
  });
  const http = open();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const result = await http.request(get(url, { connectMs: 100 }));
  assert.ok(result.ok, "the connect limit must not end a connected request");
  http.close();
  await server.shutdown();
});

Deno.test("createNodeHttp: a body is sent with its length and byte for byte", async () => {
  const body = crypto.getRandomValues(new Uint8Array(60_000));
  const server = Deno.serve(QUIET, async (request) => {
    const names = ["content-length", "transfer-encoding", "content-type"];
    const headers = names.map((name) => request.headers.get(name));
    const isSame = Buffer.compare(await request.bytes(), body) === 0;
    return Response.json([...headers, isSame]);
  });
  const http = open();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const headers = { "Content-Type": "application/json" };
  const answer = await http.request(get(url, { method: "POST", headers, body }));
  assert.ok(answer.ok, answer.ok ? "" : answer.error.message);
  const told: unknown = JSON.parse(new TextDecoder().decode(answer.value.body));
  assert.deepEqual(told, ["60000", null, "application/json", true]);
  http.close();
  await server.shutdown();
});

Deno.test("createNodeHttp: 10,000 POSTs share a few connections and leave none open", async () => {
  const ports = new Set<number>();
  const server = Deno.serve(QUIET, async (request, { remoteAddr }) => {
    ports.add(remoteAddr.port);
    await request.body?.cancel();
    return new Response("{}");
  });
  const body = new TextEncoder().encode("{}");
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const before = openSockets();
  const http = open();
  await inParallel(50, 10_000, async () => {
    const result = await http.request(get(url, { method: "POST", body }));
    assert.ok(result.ok, result.ok ? "" : result.error.message);
  });
  assert.ok(ports.size <= 60, `${ports.size} connections for 10,000 requests`);
  http.close();
  await eventually(() => openSockets() <= before, "sockets stay open");
  await server.shutdown();
});

Deno.test("createNodeHttp: GETs leave no connection open, not even an idle one", async () => {
  const server = Deno.serve(QUIET, () => new Response("{}"));
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const before = openSockets();
  const http = open();
  await inParallel(10, 200, async () => {
    const result = await http.request(get(url));
    assert.ok(result.ok, result.ok ? "" : result.error.message);
  });
  await eventually(() => openSockets() <= before, "sockets stay open");
  http.close();
  await server.shutdown();
});

Deno.test("createNodeHttp: answers that are cut, too large or stalled leave no socket open", async () => {
  const bodies = ["only this", "x".repeat(5_000), ""];
  const peer = startRawPeer(async (connection, head) => {
    const kind = Number(/kind=(\d)/.exec(head)?.[1]);
    const length = kind === 1 ? 50_000 : 100;
    const text = `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${bodies[kind]}`;
    await connection.write(new TextEncoder().encode(text));
    if (kind !== 0) await untilClosed(connection);
  });
  const before = openSockets();
  const http = open();
  const codes = new Map<string, number>();
  let next = 0;
  await inParallel(20, 210, async () => {
    const url = `http://127.0.0.1:${peer.port}/?kind=${next++ % 3}`;
    const result = await http.request(get(url, { totalMs: 300, maxBytes: 1_000 }));
    const code = result.ok ? "ok" : result.error.code;
    codes.set(code, (codes.get(code) ?? 0) + 1);
  });
  assert.deepEqual([...codes.keys()].sort(), ["cut", "timeout", "too_large"]);
  await eventually(() => openSockets() <= before, "sockets stay open");
  http.close();
  await peer.close();
});

/** Connects until nothing more is taken; the connections. */
async function fillBacklog(port: number): Promise<Deno.TcpConn[]> {
  const taken: Deno.TcpConn[] = [];
  for (;;) {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), 300);
    try {
      taken.push(await Deno.connect({ port, signal: controller.signal }));
    } catch {
      return taken;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function inParallel(workers: number, times: number, run: () => Promise<void>): Promise<void> {
  let left = times;
  const work = async () => {
    while (left-- > 0) await run();
  };
  await Promise.all(Array.from({ length: workers }, work));
}
