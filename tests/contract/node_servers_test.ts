import assert from "node:assert/strict";
import http2 from "node:http2";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { createFakeClock } from "../../adapters/fake/clock.ts";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { numberIn } from "../../adapters/node/protobuf.ts";
import { createNodeServers } from "../../adapters/node/servers.ts";
import type { Clock } from "../../core/ports/clock.ts";
import { Secret } from "../../core/secret.ts";
import { makeAuthority, makeClientCertificate } from "../lab/certificates.ts";
import { makeK3sCertificates } from "./k3s_certificates.ts";

const TLS = "/var/lib/rancher/k3s/server/tls";
const TOKEN = new Secret(`K10${"a".repeat(64)}::server:geheim-ü`);
const BASIC = `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode("server:geheim-ü")))}`;
const MEMBERS = '{"members":[{"ID":17889244515196728285,"name":"demo-1-aaaaaaaa",' +
  '"clientURLs":["https://127.0.0.1:1"]}]}';
const NAMESPACE = '{"kind":"Namespace","metadata":{"name":"kube-system","uid":"the-uid"}}';

/** How the stand-in for k3s's port 6443 answers; what is absent hangs. */
interface Answers {
  readonly info?: readonly [number, string];
  readonly namespace?: readonly [number, string];
}

const certificates = makeK3sCertificates();

/** This node's files, and the port on them. */
function createServers(clock: Clock = createNodeClock()) {
  const { authority, client } = certificates();
  const disk = createFakeDisk();
  for (const path of [`${TLS}/server-ca.crt`, `${TLS}/etcd/server-ca.crt`]) {
    disk.put(path, authority.cert);
  }
  disk.put(`${TLS}/etcd/client.crt`, client.cert);
  disk.put(`${TLS}/etcd/client.key`, client.key);
  const data = (pem: string) => btoa(pem);
  disk.put(
    "/etc/rancher/k3s/k3s.yaml",
    `apiVersion: v1
kind: Config
current-context: default
clusters: [{name: default, cluster: {server: "https://127.0.0.1:1", certificate-authority-data: ${
      data(authority.cert)
    }}}]
users: [{name: default, user: {client-certificate-data: ${data(client.cert)}, client-key-data: ${
      data(client.key)
    }}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
`,
  );
  return { disk, servers: createNodeServers({ disk, clock, version: "1.2.3" }) };
}

/** Runs with a stand-in for a server's k3s; `asked` has what it was asked, and as whom. */
async function withK3s(
  answers: Answers,
  run: (url: string, asked: readonly string[]) => Promise<void>,
): Promise<void> {
  const { authority, server } = certificates();
  const asked: string[] = [];
  const options = { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: false };
  const listener = https.createServer(options, (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`.trim());
    const answer = request.url === "/db/info" ? answers.info : answers.namespace;
    if (answer === undefined) return;
    response.writeHead(answer[0], { "Content-Type": "application/json" });
    response.end(answer[1]);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    await run(`https://127.0.0.1:${(listener.address() as AddressInfo).port}`, asked);
  } finally {
    listener.closeAllConnections();
    await new Promise<void>((resolve) => listener.close(() => resolve()));
  }
}

/** Runs with a stand-in for a member's etcd: one answer for every call. */
async function withEtcd(
  reply: { readonly headers?: Record<string, string>; readonly message?: Uint8Array | null },
  run: (
    url: string,
    asked: readonly { path: string; agent: string; body: Uint8Array }[],
  ) => Promise<void>,
): Promise<void> {
  const { authority, server } = certificates();
  const asked: { path: string; agent: string; body: Uint8Array }[] = [];
  const sessions = new Set<http2.ServerHttp2Session>();
  const options = { ...server, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
  const listener = http2.createSecureServer(options);
  listener.on("session", (session) => sessions.add(session));
  listener.on("stream", (stream, headers) => {
    const chunks: Uint8Array[] = [];
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("end", () => {
      asked.push({
        path: String(headers[":path"]),
        agent: String(headers["user-agent"]),
        body: new Uint8Array(chunks.flatMap((each) => [...each])),
      });
      if (reply.message === null) return;
      stream.respond({ ":status": 200, "content-type": "application/grpc", ...reply.headers });
      const { message } = reply;
      stream.end(
        message === undefined
          ? new Uint8Array()
          : new Uint8Array([0, 0, 0, 0, message.length, ...message]),
      );
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    await run(`https://127.0.0.1:${(listener.address() as AddressInfo).port}`, asked);
  } finally {
    for (const session of sessions) session.destroy();
    await new Promise<void>((resolve) => listener.close(() => resolve()));
  }
}

function member(url: string) {
  return {
    id: "17889244515196728285",
    name: "demo-1-aaaaaaaa",
    clientUrls: [url],
    isLearner: false,
  };
}

/** The stand-ins of Node.js leave handles behind that nothing waits for. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `createNodeServers: ${name}`,
    fn,
    sanitizeOps: false,
    sanitizeResources: false,
  });
}

test("look asks with the token's password, and as the administrator", async () => {
  await withK3s({ info: [200, MEMBERS], namespace: [200, NAMESPACE] }, async (url, asked) => {
    const { servers } = createServers();
    const view = await servers.look(url, TOKEN);
    assert.deepEqual(view, {
      ok: true,
      value: { kubeSystemUid: "the-uid", members: [member("https://127.0.0.1:1")] },
    });
    assert.deepEqual(asked, [`GET /db/info ${BASIC}`, "GET /api/v1/namespaces/kube-system"]);
  });
});

const FAULTS: readonly (readonly [string, Answers, "unreachable" | "refused", RegExp])[] = [
  [
    "a token that is not taken",
    { info: [401, "{}"] },
    "refused",
    /does not take this node's token \(401\)/,
  ],
  ["no etcd", { info: [404, "404 page not found"] }, "refused", /no k3s server with etcd/],
  [
    "no majority",
    { info: [500, '{"kind":"Status"}'] },
    "unreachable",
    /answered 500: its etcd has no majority/,
  ],
  ["something else", { info: [200, "<html>"] }, "refused", /shows no members of etcd/],
  [
    "members without IDs",
    { info: [200, '{"members":[{"name":"x"}]}'] },
    "refused",
    /shows no members/,
  ],
  [
    "an API that is not up",
    { info: [200, MEMBERS], namespace: [503, "{}"] },
    "unreachable",
    /answered 503/,
  ],
  [
    "no kube-system",
    { info: [200, MEMBERS], namespace: [200, "{}"] },
    "refused",
    /shows no kube-system/,
  ],
];

for (const [what, answers, code, words] of FAULTS) {
  test(`look: ${what}`, async () => {
    await withK3s(answers, async (url) => {
      const view = await createServers().servers.look(url, TOKEN);
      assert.ok(!view.ok);
      assert.equal(view.error.code, code);
      assert.match(view.error.message, words);
      assert.ok(!view.error.message.includes("geheim"));
    });
  });
}

test("look: nobody there, a stranger's certificate, files that are not there", async () => {
  const { servers, disk } = createServers();
  const nobody = await servers.look("https://127.0.0.1:1", TOKEN);
  assert.ok(!nobody.ok && nobody.error.code === "unreachable");
  await withK3s({ info: [200, MEMBERS] }, async (url) => {
    disk.put(`${TLS}/server-ca.crt`, (await makeAuthority("stranger")).cert);
    const strange = await servers.look(url, TOKEN);
    assert.ok(!strange.ok && /unknown issuer/.test(strange.error.message), JSON.stringify(strange));
  });
  await disk.remove(`${TLS}/server-ca.crt`);
  assert.equal(codeOf(await servers.look("https://127.0.0.1:1", TOKEN)), "missing");
});

test("look: a server that stands still ends after 10 s", async () => {
  await withK3s({}, async (url) => {
    const clock = createFakeClock();
    const looking = createServers(clock).servers.look(url, TOKEN);
    while (clock.pending().count === 0) await clock.settle();
    await clock.advance(10_000);
    const view = await looking;
    assert.ok(!view.ok && /no complete answer in 10000 ms/.test(view.error.message));
  });
});

test("isHealthy: a member that knows a leader, with this node's certificate", async () => {
  const cases: readonly (readonly [Parameters<typeof withEtcd>[0], boolean])[] = [
    [{ message: new Uint8Array([0x20, 0x96, 0x01]) }, true],
    // No leader is known: the field is not there.
    [{ message: new Uint8Array([0x28, 2]) }, false],
    [{ message: new Uint8Array([0x20]) }, false],
    [{ headers: { "grpc-status": "14", "grpc-message": "etcdserver: no leader" } }, false],
    [{}, false],
  ];
  for (const [reply, isHealthy] of cases) {
    await withEtcd(reply, async (url, asked) => {
      const { servers } = createServers();
      assert.equal(await servers.isHealthy(member(url)), isHealthy, JSON.stringify(reply));
      assert.deepEqual(asked.map(({ path }) => path), ["/etcdserverpb.Maintenance/Status"]);
      assert.match(asked[0]?.agent ?? "", /^pbx-agent\/[0-9]/);
    });
  }
  assert.equal(await createServers().servers.isHealthy(member("https://127.0.0.1:1")), false);
  const none = { ...member(""), clientUrls: [] };
  assert.equal(await createServers().servers.isHealthy(none), false);
});

test("isHealthy: without this node's certificate etcd answers nothing", async () => {
  await withEtcd({ message: new Uint8Array([0x20, 1]) }, async (url, asked) => {
    const { servers, disk } = createServers();
    const stranger = await makeAuthority("stranger");
    const other = await makeClientCertificate(stranger, "x", "y");
    disk.put(`${TLS}/etcd/client.crt`, other.cert);
    disk.put(`${TLS}/etcd/client.key`, other.key);
    assert.equal(await servers.isHealthy(member(url)), false);
    assert.deepEqual(asked, []);
  });
});

test("removeMember: sends the whole ID, and takes a member that is gone for done", async () => {
  await withEtcd({ message: new Uint8Array([0x0a, 0]) }, async (url, asked) => {
    const removed = await createServers().servers.removeMember(member(url), member("https://x"));
    assert.deepEqual(removed, { ok: true, value: undefined });
    const [call] = asked;
    assert.equal(call?.path, "/etcdserverpb.Cluster/MemberRemove");
    assert.equal(numberIn(call?.body.subarray(5) ?? new Uint8Array(), 1), 17889244515196728285n);
  });
  const gone = { "grpc-status": "5", "grpc-message": "etcdserver: member not found" };
  await withEtcd({ headers: gone }, async (url) => {
    const removed = await createServers().servers.removeMember(member(url), member("https://x"));
    assert.ok(removed.ok);
  });
  const refused = { "grpc-status": "9", "grpc-message": "etcdserver: re-configuration%20failed" };
  await withEtcd({ headers: refused }, async (url) => {
    const removed = await createServers().servers.removeMember(member(url), member("https://x"));
    assert.ok(!removed.ok && removed.error.code === "refused");
    assert.match(removed.error.message, /re-configuration failed \(9\)/);
  });
});

test("removeMember: a member that stands still ends after 10 s", async () => {
  await withEtcd({ message: null }, async (url, asked) => {
    const clock = createFakeClock();
    const removing = createServers(clock).servers.removeMember(member(url), member("https://x"));
    while (asked.length === 0 || clock.pending().count === 0) await clock.settle();
    await clock.advance(10_000);
    const removed = await removing;
    assert.ok(!removed.ok && removed.error.code === "unreachable");
    assert.match(removed.error.message, /no answer in 10000 ms/);
  });
});

function codeOf(result: Awaited<ReturnType<ReturnType<typeof createNodeServers>["look"]>>) {
  return result.ok ? null : result.error.code;
}
