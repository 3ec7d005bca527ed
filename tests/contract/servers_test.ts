import assert from "node:assert/strict";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { createFakeDisk } from "../../adapters/fake/disk.ts";
import { createFakeServers } from "../../adapters/fake/servers.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { servedCa } from "../../adapters/node/served_ca.ts";
import { createNodeServers } from "../../adapters/node/servers.ts";
import type { ServerError } from "../../core/ports/servers.ts";
import { makeK3sCertificates } from "./k3s_certificates.ts";
import { type AuthorityScript, serversContract, type ServersWorld } from "./servers_contract.ts";

const certificates = makeK3sCertificates();

/** The fake answers by the same scripts, in memory. */
function openFakeWorld(): Promise<ServersWorld> {
  let script: AuthorityScript = { kind: "nobody" };
  let isOwn = false;
  const refused = (url: string, why: string): ServerError => ({
    code: "unreachable",
    message: `${url}/cacerts: ${why}`,
  });
  const servers = createFakeServers({
    authority(url) {
      if (url === null && !isOwn) return { code: "missing", message: "there is no kubeconfig" };
      if (script.kind === "file") return script.bytes;
      if (script.kind === "nobody") return null;
      const why = script.kind === "status" ? `answers ${script.status}` : script.kind;
      return refused(url ?? "this node", why);
    },
    look: () => null,
    isHealthy: () => false,
    remove: () => false,
  });
  return Promise.resolve({
    servers,
    url(next) {
      script = next;
      return Promise.resolve("https://10.0.0.9:6443");
    },
    answer: (next) => script = next,
    own: () => isOwn = true,
    close: () => Promise.resolve(),
  });
}

/** The real adapter, with a server on loopback whose certificate nobody has told it. */
function openNodeWorld(): Promise<ServersWorld> {
  const { authority, server, client } = certificates();
  const disk = createFakeDisk();
  const listeners: https.Server[] = [];
  let script: AuthorityScript = { kind: "nobody" };
  let last = "";

  const listener = https.createServer({ ...server }, (request, response) => {
    if (request.url !== "/cacerts") return void response.writeHead(404).end();
    switch (script.kind) {
      case "file":
        return void response.end(script.bytes);
      case "status":
        return void response.writeHead(script.status, { Location: "/elsewhere" }).end();
      case "too_large":
        return void response.end(new Uint8Array(256 * 1024 + 1));
      case "cut":
        response.writeHead(200, { "Content-Length": "100" });
        response.write("half", () => response.destroy());
        return;
      case "nobody":
        return void response.destroy();
    }
  });

  return Promise.resolve({
    servers: createNodeServers({ disk, clock: createNodeClock(), version: "1.2.3" }),
    async url(next) {
      script = next;
      if (!listener.listening) {
        await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
        listeners.push(listener);
      }
      last = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`;
      if (next.kind === "nobody") await closed(listener);
      return last;
    },
    answer: (next) => script = next,
    own() {
      const data = (pem: string) => btoa(pem);
      const user = `client-certificate-data: ${data(client.cert)}, client-key-data: ${
        data(client.key)
      }`;
      disk.put(
        "/etc/rancher/k3s/k3s.yaml",
        `apiVersion: v1
kind: Config
current-context: default
clusters: [{name: default, cluster: {server: "${last}", certificate-authority-data: ${
          data(authority.cert)
        }}}]
users: [{name: default, user: {${user}}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
`,
      );
    },
    async close() {
      for (const one of listeners) await closed(one);
    },
  });
}

/** Stops listening; a connection whose handshake failed would hold up a wait for the end. */
function closed(listener: https.Server): Promise<void> {
  listener.close();
  listener.closeAllConnections();
  return Promise.resolve();
}

serversContract("fake", openFakeWorld);
serversContract("node", openNodeWorld);

Deno.test({
  name: "servedCa: a server that stands still is given up, and says who it was",
  async fn() {
    const { server } = certificates();
    const listener = https.createServer({ ...server }, (_request, response) => {
      response.writeHead(200, { "Content-Length": "100" });
      response.write("half");
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(listener.address() as AddressInfo).port}`;
    try {
      const served = await servedCa(url, 200, "pbx-agent/1.2.3");
      assert.ok(!served.ok);
      assert.equal(served.error, `${url}/cacerts: no complete answer in 200 ms`);
    } finally {
      await closed(listener);
    }
  },
  sanitizeOps: false,
  sanitizeResources: false,
});

Deno.test({
  name: "servedCa: asks /cacerts of the server alone, says who asks, and shows no token",
  async fn() {
    const { server } = certificates();
    const asked: { url?: string; headers: Record<string, unknown> }[] = [];
    const listener = https.createServer({ ...server }, ({ url, headers }, response) => {
      asked.push({ ...(url === undefined ? {} : { url }), headers });
      response.end("file");
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as AddressInfo;
    try {
      await servedCa(`https://127.0.0.1:${port}`, 5_000, "pbx-agent/1.2.3");
      await servedCa(`https://127.0.0.1:${port}/v1?x=1`, 5_000, "pbx-agent/1.2.3");
      assert.deepEqual(asked.map(({ url }) => url), ["/cacerts", "/cacerts"]);
      for (const { headers } of asked) {
        assert.equal(headers["user-agent"], "pbx-agent/1.2.3");
        assert.equal(headers["authorization"], undefined);
      }
    } finally {
      await closed(listener);
    }
  },
  sanitizeOps: false,
  sanitizeResources: false,
});
