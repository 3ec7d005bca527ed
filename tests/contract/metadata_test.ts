import assert from "node:assert/strict";
import { createFakeHttp, type FakeReply } from "../../adapters/fake/http.ts";
import { createFakeMetadata } from "../../adapters/fake/metadata.ts";
import { createNodeClock } from "../../adapters/node/clock.ts";
import { createNodeMetadata } from "../../adapters/node/metadata.ts";
import { metadataContract } from "./metadata_contract.ts";

const clock = createNodeClock();

metadataContract("fake", () => {
  const metadata = createFakeMetadata("0");
  return {
    metadata,
    answer: (next) => metadata.answer("id" in next ? next.id : { ...next, message: "scripted" }),
  };
});

metadataContract("node", () => {
  let reply: FakeReply = { status: 200 };
  const http = createFakeHttp({ clock, peer: () => reply });
  return {
    metadata: createNodeMetadata({ http }),
    answer: (next) => {
      if ("id" in next) reply = { status: 200, body: `${next.id}\n` };
      else if (next.code === "malformed") reply = { status: 200, body: "<html>" };
      else reply = { error: next.code };
    },
  };
});

Deno.test("createNodeMetadata: asks the URL of the service, without PBX headers", async () => {
  const urls: readonly (readonly [string | undefined, string])[] = [
    [undefined, "http://169.254.169.254/hetzner/v1/metadata/instance-id"],
    ["http://127.0.0.1:8080", "http://127.0.0.1:8080/hetzner/v1/metadata/instance-id"],
    ["http://127.0.0.1:8080/", "http://127.0.0.1:8080/hetzner/v1/metadata/instance-id"],
    ["http://[::1]:1/hetzner/v1/metadata/", "http://[::1]:1/hetzner/v1/metadata/instance-id"],
    ["http://localhost/lab", "http://localhost/lab/instance-id"],
  ];
  for (const [url, expected] of urls) {
    const http = createFakeHttp({ clock, peer: () => ({ status: 200, body: "1" }) });
    await createNodeMetadata({ http, ...(url === undefined ? {} : { url }) }).instanceId();
    const [request] = http.requests;
    assert.equal(request?.url, expected);
    assert.deepEqual(Object.keys(request.headers), ["User-Agent"]);
    assert.equal(request.totalMs, 5_000);
  }
});

Deno.test("createNodeMetadata: what is no ID is malformed, and not quoted", async () => {
  const replies: readonly FakeReply[] = [
    { status: 404, body: "4711" },
    { status: 302, headers: { Location: "/" }, body: "4711" },
    { status: 200, body: "" },
    { status: 200, body: "hidden" },
    { status: 200, body: "-1" },
    { status: 200, body: "4711 4712" },
    { status: 200, body: "9".repeat(40) },
  ];
  for (const reply of replies) {
    const http = createFakeHttp({ clock, peer: () => reply });
    const id = await createNodeMetadata({ http }).instanceId();
    assert.equal(id.ok ? id.value : id.error.code, "malformed");
    assert.ok(!id.ok && !id.error.message.includes("hidden"));
  }
});
