import assert from "node:assert/strict";
import { createFakeClock, type FakeClock } from "../../adapters/fake/clock.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { type FakeK8sServer, startFakeK8sServer } from "../../adapters/fake/k8s_server.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeK8s } from "../../adapters/node/k8s.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { K8sError, ObjectRef } from "../../core/ports/k8s.ts";
import type { Result } from "../../core/result.ts";
import {
  makeAuthority,
  makeClientCertificate,
  makeServerCertificate,
} from "../lab/certificates.ts";
import { startRawPeer, untilClosed, writeText } from "./raw_peer.ts";

const KUBECONFIG = "/etc/rancher/k3s/k3s.yaml";
const REF: ObjectRef = { apiVersion: "v1", resource: "secrets", namespace: "default", name: "one" };
const SECRET = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "one" },
  data: { key: "dmFsdWUtb2YtaXQ=" },
};

function kubeconfig(server: string, cluster: object = {}, user: object = { token: "t0ken" }) {
  return JSON.stringify({
    clusters: [{ name: "c", cluster: { server, ...cluster } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  });
}

function open(text: string | null, clock: Clock = createNodeClock()) {
  const disk = createFakeDisk();
  if (text !== null) disk.put(KUBECONFIG, text);
  return { disk, k8s: createNodeK8s({ disk, clock, version: "1.2.3" }) };
}

function unreachable(result: Result<unknown, K8sError>): string {
  assert.ok(!result.ok && result.error.code === "unreachable", JSON.stringify(result));
  return result.error.message;
}

/** Runs against a server that gives every request the same answer. */
async function answered(
  answer: (request: Request) => Response | Promise<Response>,
  run: (k8s: ReturnType<typeof createNodeK8s>) => Promise<void>,
): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const { k8s } = open(kubeconfig(`http://127.0.0.1:${server.addr.port}`));
  try {
    await run(k8s);
  } finally {
    k8s.close();
    await server.shutdown();
  }
}

/** Lets the call start its deadline, then lets all of that time pass. */
async function outlast(clock: FakeClock, ms: number): Promise<void> {
  while (clock.pending().count === 0) await clock.settle();
  await clock.advance(ms);
}

Deno.test("createNodeK8s: without a usable kubeconfig the API is unreachable, and why is said", async () => {
  const { k8s, disk } = open(null);
  assert.equal(await k8s.ready(), false);
  assert.match(unreachable(await k8s.get(REF)), /k3s\.yaml is not there: k3s writes it/);
  disk.put(KUBECONFIG, "{{{ key: dmFsdWU=");
  assert.match(unreachable(await k8s.apply(REF, SECRET)), /k3s\.yaml is no YAML mapping$/);
  disk.put(KUBECONFIG, "x".repeat(300_000));
  assert.match(unreachable(await k8s.get(REF)), /k3s\.yaml/);
  disk.put(KUBECONFIG, kubeconfig("http://127.0.0.1:1"));
  assert.match(unreachable(await k8s.get(REF)), /connection refused|blocked|refuses/);
  k8s.close();
});

Deno.test("createNodeK8s: each request says who sends it and what it takes", async () => {
  const seen: (readonly [string, string, string | null, string | null, string])[] = [];
  await answered(async (request) => {
    const { pathname, search } = new URL(request.url);
    const header = (name: string) => request.headers.get(name);
    assert.equal(header("user-agent"), "pbx-agent/1.2.3");
    assert.equal(header("authorization"), "Bearer t0ken");
    const { method } = request;
    seen.push([
      method,
      pathname + search,
      header("accept"),
      header("content-type"),
      await request.text(),
    ]);
    return Response.json({});
  }, async (k8s) => {
    await k8s.ready();
    await k8s.get({ apiVersion: "helm.cattle.io/v1", resource: "helmcharts", name: "a" });
    await k8s.apply(REF, SECRET);
  });
  assert.deepEqual(seen, [
    ["GET", "/readyz", "application/json", null, ""],
    ["GET", "/apis/helm.cattle.io/v1/helmcharts/a", "application/json", null, ""],
    [
      "PATCH",
      "/api/v1/namespaces/default/secrets/one?fieldManager=pbx-agent&force=true",
      "application/json",
      "application/apply-patch+yaml",
      JSON.stringify(SECRET),
    ],
  ]);
});

Deno.test("createNodeK8s: a refusal carries the API's status, reason and message", async () => {
  const status = { kind: "Status", reason: "Conflict", message: "two managers want it" };
  await answered(() => Response.json(status, { status: 409 }), async (k8s) => {
    assert.deepEqual(await k8s.apply(REF, SECRET), {
      ok: false,
      error: {
        code: "refused",
        status: 409,
        reason: "Conflict",
        message: "apply /api/v1/namespaces/default/secrets/one: 409: two managers want it",
      },
    });
  });
});

Deno.test("createNodeK8s: a refusal that quotes a Secret does not pass it on", async () => {
  const message = "bad value-of-it, bad dmFsdWUtb2YtaXQ=";
  await answered(() => Response.json({ message }, { status: 500 }), async (k8s) => {
    const result = await k8s.apply(REF, SECRET);
    const said = result.ok ? "" : result.error.message;
    assert.match(said, /500: bad \[secret\], bad \[secret\]$/);
  });
});

Deno.test("createNodeK8s: a refusal without a Status object has no reason", async () => {
  await answered(() => new Response("no", { status: 503 }), async (k8s) => {
    const result = await k8s.get(REF);
    assert.ok(!result.ok && result.error.code === "refused");
    assert.deepEqual([result.error.status, result.error.reason], [503, ""]);
    assert.equal(await k8s.ready(), false);
  });
});

Deno.test("createNodeK8s: a redirect is a refusal and is not followed", async () => {
  let requests = 0;
  await answered(() => {
    requests++;
    return new Response(null, { status: 302, headers: { location: "/elsewhere" } });
  }, async (k8s) => {
    const result = await k8s.get(REF);
    assert.equal(!result.ok && result.error.code === "refused" && result.error.status, 302);
  });
  assert.equal(requests, 1);
});

Deno.test("createNodeK8s: what does not carry the labels asked for is no part of a list, whatever the API says", async () => {
  const items = [{ a: "1", b: "2" }, { a: "1" }, { a: "2", b: "2" }, null]
    .map((labels, index) => ({ metadata: { name: `one-${index}`, labels } }));
  await answered(() => Response.json({ items }), async (k8s) => {
    const { namespace: _namespace, name: _name, ...secrets } = REF;
    assert.deepEqual(await k8s.list(secrets, { a: "1", b: "2" }), { ok: true, value: [items[0]] });
    assert.deepEqual(await k8s.list(secrets), { ok: true, value: items });
  });
});

Deno.test("createNodeK8s: an answer that is no JSON object counts as none", async () => {
  for (const body of ["", "{", "[]", "null", "<html>"]) {
    await answered(() => new Response(body), async (k8s) => {
      assert.match(unreachable(await k8s.get(REF)), /no JSON object/, body);
    });
  }
});

Deno.test("createNodeK8s: an answer over 8 MiB is left where it is too large", async () => {
  const chunk = new Uint8Array(65_536);
  let sent = 0;
  const endless = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: (controller) => {
        sent += chunk.length;
        controller.enqueue(chunk);
      },
    });
  await answered(() => new Response(endless()), async (k8s) => {
    assert.match(unreachable(await k8s.get(REF)), /over 8388608 bytes/);
  });
  assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
});

Deno.test("createNodeK8s: silence, headers alone and half a body end at the deadline", async () => {
  const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
  for (const start of ["", head, `${head}{"kind":`]) {
    const written = Promise.withResolvers<void>();
    const peer = startRawPeer(async (connection) => {
      await writeText(connection, start);
      written.resolve();
      await untilClosed(connection);
    });
    const clock = createFakeClock();
    const { k8s } = open(kubeconfig(`http://127.0.0.1:${peer.port}`), clock);
    const calling = k8s.get(REF);
    await written.promise;
    // Long enough for what was written to get as far as the client takes it.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await outlast(clock, 10_000);
    assert.match(unreachable(await calling), /no complete answer in 10000 ms/);
    const asking = k8s.ready();
    await outlast(clock, 5_000);
    assert.equal(await asking, false);
    assert.equal(clock.pending().count, 0, "a deadline must not outlive its call");
    k8s.close();
    await peer.close();
  }
});

Deno.test("createNodeK8s: the connection is kept for the next call, also after a 404", async () => {
  const ports = new Set<number>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (_, info) => {
    ports.add(info.remoteAddr.port);
    return Response.json({ kind: "Status" }, { status: 404 });
  });
  const { k8s } = open(kubeconfig(`http://127.0.0.1:${server.addr.port}`));
  for (let call = 0; call < 50; call++) {
    assert.deepEqual(await k8s.get(REF), { ok: true, value: null });
  }
  assert.equal(ports.size, 1);
  k8s.close();
  await server.shutdown();
});

Deno.test("createNodeK8s: a kubeconfig that changes or goes away counts from the next call on", async () => {
  const servers: FakeK8sServer[] = [startFakeK8sServer(), startFakeK8sServer()];
  const [first, second] = servers.map(({ kubeconfig }) => kubeconfig) as [string, string];
  const { k8s, disk } = open(first);
  assert.ok((await k8s.apply(REF, SECRET)).ok);
  disk.put(KUBECONFIG, second);
  assert.deepEqual(await k8s.get(REF), { ok: true, value: null });
  disk.put(KUBECONFIG, first);
  const found = await k8s.get(REF);
  assert.ok(found.ok && found.value !== null);
  await disk.remove(KUBECONFIG);
  assert.match(unreachable(await k8s.get(REF)), /not there/);
  k8s.close();
  for (const server of servers) await server.stop();
});

Deno.test("createNodeK8s: a call that runs while the kubeconfig changes still ends well", {
  // The client must be closed then, though nobody calls `close`.
  sanitizeResources: true,
}, async () => {
  const arrived = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const slow = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async () => {
    arrived.resolve();
    await goOn.promise;
    return Response.json({ kind: "Secret" });
  });
  const { k8s, disk } = open(kubeconfig(`http://127.0.0.1:${slow.addr.port}`));
  const running = k8s.get(REF);
  await arrived.promise;
  await disk.remove(KUBECONFIG);
  assert.equal(await k8s.ready(), false);
  goOn.resolve();
  assert.deepEqual(await running, { ok: true, value: { kind: "Secret" } });
  await slow.shutdown();
});

// In a process of its own, because the variables belong to the whole process.
Deno.test("createNodeK8s: proxy variables have no say", async () => {
  const server = startFakeK8sServer();
  const root = await Deno.makeTempDir({ prefix: "pbx-k8s-" });
  await Deno.mkdir(`${root}/etc/rancher/k3s`, { recursive: true });
  await server.writeKubeconfig(root + KUBECONFIG);
  const nowhere = "http://127.0.0.1:9";
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      new URL("./ask_ready_main.ts", import.meta.url).pathname,
      root,
    ],
    env: { HTTP_PROXY: nowhere, http_proxy: nowhere, ALL_PROXY: nowhere, NO_PROXY: "" },
    stderr: "inherit",
  }).output();
  assert.equal(new TextDecoder().decode(stdout), "true http://127.0.0.1:9");
  assert.deepEqual(server.requests().map(({ path }) => path), ["/readyz"]);
  await server.stop();
  await Deno.remove(root, { recursive: true });
});

Deno.test("createNodeK8s: https takes the authority of the kubeconfig and no other", async () => {
  const authority = await makeAuthority("ours");
  const user = await makeClientCertificate(authority, "admin", "system:masters");
  const certificates = {
    "client-certificate-data": btoa(user.cert),
    "client-key-data": btoa(user.key),
  };
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen() {},
    ...await makeServerCertificate(authority),
  }, () => new Response("ok"));
  const url = `https://127.0.0.1:${server.addr.port}`;
  const trusting = (cert: string) =>
    kubeconfig(url, { "certificate-authority-data": btoa(cert) }, certificates);
  const { k8s, disk } = open(trusting(authority.cert));
  assert.equal(await k8s.ready(), true);
  disk.put(KUBECONFIG, trusting((await makeAuthority("stranger")).cert));
  assert.match(unreachable(await k8s.get(REF)), /certificate is from an unknown issuer/);
  k8s.close();
  await server.shutdown();
});

Deno.test("startFakeK8sServer: its faults are what a client sees of a broken API", async () => {
  const server = startFakeK8sServer();
  const clock = createFakeClock();
  const { k8s } = open(server.kubeconfig, clock);
  server.breakWith({ kind: "status", status: 429, reason: "TooManyRequests" });
  const busy = await k8s.get(REF);
  assert.deepEqual(!busy.ok && busy.error.code === "refused" && busy.error.status, 429);
  server.breakWith({ kind: "down" });
  unreachable(await k8s.get(REF));
  for (const kind of ["hang", "stall"] as const) {
    server.breakWith({ kind });
    const calling = k8s.get(REF);
    await outlast(clock, 10_000);
    unreachable(await calling);
  }
  server.breakWith(null);
  server.setReady(false);
  assert.equal(await k8s.ready(), false);
  server.setReady(true);
  assert.equal(await k8s.ready(), true);
  assert.equal(server.writes(), 0);
  assert.ok((await k8s.apply(REF, SECRET)).ok);
  assert.equal(server.writes(), 1);
  k8s.close();
  await server.stop();
});

for (
  const [what, page, pages, says] of [
    [
      "never ends",
      (n: number) => ({ items: [], next: `t${n}` }),
      100,
      /does not end after 100 pages/,
    ],
    ["names the same page again", () => ({ items: [], next: "t" }), 2, /the same page again/],
    [
      "is larger than any",
      (n: number) => ({ items: [{ data: "x".repeat(7_000_000) }], next: `t${n}` }),
      10,
      /over 67108864 bytes/,
    ],
  ] as const
) {
  Deno.test(`createNodeK8s: a list that ${what} ends, and none of it is believed`, async () => {
    let asked = 0;
    await answered(() => {
      const { items, next } = page(asked++);
      return Response.json({ items, metadata: { continue: next } });
    }, async (k8s) => {
      const message = unreachable(await k8s.list({ apiVersion: "v1", resource: "secrets" }));
      assert.match(message, says);
      assert.equal(asked, pages);
    });
  });
}
