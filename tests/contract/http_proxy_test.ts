import assert from "node:assert/strict";
import { startRawPeer, writeText } from "./raw_peer.ts";

/** A proxy that answers everything itself, a server of its own, and a run of the client with them. */
async function withProxy(
  test: (
    world: {
      readonly proxy: string;
      readonly server: string;
      /** First lines of the requests that the proxy got. */
      readonly proxied: string[];
      readonly run: (url: string, environment: Record<string, string>) => Promise<string[]>;
    },
  ) => Promise<void>,
): Promise<void> {
  const proxied: string[] = [];
  const peer = startRawPeer(async (connection, head) => {
    proxied.push(head.split("\r\n")[0] ?? "");
    const close = "Connection: close\r\nContent-Length: 9\r\n\r\n";
    await writeText(connection, `HTTP/1.1 200 OK\r\n${close}via proxy`);
  });
  const quiet = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const direct = Deno.serve(quiet, () => new Response("direct"));
  const proxy = `http://127.0.0.1:${peer.port}`;
  const server = `http://127.0.0.1:${direct.addr.port}/`;
  try {
    await test({ proxy, server, proxied, run: runChild });
  } finally {
    await direct.shutdown();
    await peer.close();
  }
}

async function runChild(url: string, environment: Record<string, string>): Promise<string[]> {
  const child = new URL("./http_proxy_child.ts", import.meta.url).pathname;
  const { HOME = "/root", DENO_DIR } = Deno.env.toObject();
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", "--no-check", "--allow-net", "--allow-env", child, url],
    clearEnv: true,
    env: { HOME, ...(DENO_DIR === undefined ? {} : { DENO_DIR }), ...environment },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).split("\n");
}

for (const variable of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]) {
  Deno.test(`createNodeHttp: ${variable} is used, but not for loopback`, async () => {
    await withProxy(async ({ proxy, server, proxied, run }) => {
      assert.equal((await run("http://a.test/x", { [variable]: proxy }))[0], "via proxy");
      assert.deepEqual(proxied, ["GET http://a.test/x HTTP/1.1"]);
      assert.equal((await run(server, { [variable]: proxy }))[0], "direct");
      assert.equal(proxied.length, 1);
    });
  });
}

Deno.test("createNodeHttp: https goes through HTTPS_PROXY as a tunnel", async () => {
  await withProxy(async ({ proxy, proxied, run }) => {
    await run("https://a.test/x", { HTTPS_PROXY: proxy, HTTP_PROXY: "http://127.0.0.1:9" });
    assert.deepEqual(proxied, ["CONNECT a.test:443 HTTP/1.1"]);
  });
});

Deno.test("createNodeHttp: the metadata service is never asked through a proxy", async () => {
  await withProxy(async ({ proxy, proxied, run }) => {
    await run("http://169.254.169.254/hetzner/v1/metadata/instance-id", { ALL_PROXY: proxy });
    assert.deepEqual(proxied, []);
  });
});

Deno.test("createNodeHttp: NO_PROXY is ours to read, and stays in the environment", async () => {
  await withProxy(async ({ proxy, proxied, run }) => {
    const away = { HTTP_PROXY: proxy, NO_PROXY: "invalid" };
    assert.deepEqual(await run("http://a.invalid/", away), ["connect", "NO_PROXY=invalid"]);
    assert.deepEqual(proxied, []);
    // The runtime reads the upper case first; by our rule only the lower case counts here.
    const both = { HTTP_PROXY: proxy, NO_PROXY: "b.invalid", no_proxy: "c.invalid" };
    assert.deepEqual(await run("http://b.invalid/", both), ["via proxy", "NO_PROXY=b.invalid"]);
  });
});

Deno.test("createNodeHttp: a variable that holds no proxy is an error, not a direct way", async () => {
  await withProxy(async ({ run }) => {
    assert.equal((await run("http://a.test/", { HTTP_PROXY: "ftp://x" }))[0], "connect");
  });
});
