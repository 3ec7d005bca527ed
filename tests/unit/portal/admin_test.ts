import assert from "node:assert/strict";
import { parse } from "yaml";
import { welcome } from "../../../adapters/portal/welcome.ts";
import { enrollBody, keysOf } from "./client.ts";
import { assertRefused, inWorld } from "./world.ts";

Deno.test("admin: state tells everything and no secret, token or desired one", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await world.sync(agent);
    const { status, body } = await world.admin("GET", "/admin/state");
    assert.equal(status, 200);
    assert.equal(body.agents[agent.id].report.node.name, "demo-1");
    assert.equal(body.clusters.demo.desired.secrets.hcloud.token.plain, "[secret]");
    const [[hash, token]] = Object.entries<{ used_by: string }>(body.tokens) as [
      [string, { used_by: string }],
    ];
    assert.equal(token.used_by, agent.id);
    const [enroll, sync] = body.requests;
    assert.deepEqual([enroll.path, enroll.status, enroll.token_sha256], [
      "/agent/v1/enroll",
      200,
      hash,
    ]);
    assert.deepEqual([sync.path, sync.status, sync.agent], ["/agent/v1/sync", 200, agent.id]);
    const secrets = [world.token, ...plainTexts(world)];
    for (const text of [JSON.stringify(body), ...world.log]) {
      for (const secret of secrets) assert.ok(!text.includes(secret));
    }
  }));

Deno.test("admin: the log of requests names the refusal and can be emptied", () =>
  inWorld(async (world) => {
    await world.client.send({ path: "/enroll", body: enrollBody("pbx_no", keysOf(1)) });
    const state = async () => (await world.admin("GET", "/admin/state")).body;
    const { status, code } = (await state()).requests[0];
    assert.deepEqual([status, code], [401, "invalid_token"]);
    await world.admin("DELETE", "/admin/requests");
    assert.deepEqual((await state()).requests, []);
  }));

Deno.test("admin: the log keeps the last thousand requests", () =>
  inWorld(async (world) => {
    const { memory } = world.running.portal;
    const record = { at: "", method: "GET", status: 200, code: null, agent: null, bytes: 0 };
    for (let turn = 0; turn < 999; turn++) memory.requests.push({ ...record, path: `${turn}` });
    for (const path of ["/a", "/b"]) await world.client.send({ method: "GET", path });
    const { requests } = (await world.admin("GET", "/admin/state")).body;
    assert.equal(requests.length, 1000);
    assert.deepEqual([requests[0].path, requests.at(-1).path], ["1", "/agent/v1/b"]);
  }));

/** Each: a call of the admin API that is wrong, and the answer. */
const WRONG: readonly [string, string, unknown, number, string][] = [
  ["GET", "/admin", undefined, 404, "not_found"],
  ["POST", "/admin/state", undefined, 405, "method_not_allowed"],
  ["GET", "/admin/clusters/none", undefined, 404, "not_found"],
  ["GET", "/admin/clusters/constructor", undefined, 404, "not_found"],
  ["PUT", "/admin/clusters/none/desired", { desired: null }, 404, "not_found"],
  ["PUT", "/admin/clusters/demo/desired", {}, 400, "invalid_request"],
  ["PATCH", "/admin/clusters/demo/desired", [], 400, "invalid_request"],
  ["PATCH", "/admin/clusters/demo/desired", { revision: "two" }, 400, "invalid_request"],
  ["PATCH", "/admin/clusters/demo", { bootstrap: { release: "../x" } }, 400, "invalid_request"],
  ["PATCH", "/admin/clusters/demo", { nodes: {} }, 400, "invalid_request"],
  ["POST", "/admin/clusters/none/operations", { kind: "x" }, 404, "not_found"],
  ["POST", "/admin/clusters/demo/operations", {}, 400, "invalid_request"],
  ["POST", "/admin/clusters/demo/operations", { kind: "x", id: "../x" }, 400, "invalid_request"],
  ["POST", "/admin/clusters/demo/operations", { kind: "x", node_name: "no" }, 404, "not_found"],
  ["GET", "/admin/clusters/demo/operations/none", undefined, 404, "not_found"],
  ["DELETE", "/admin/clusters/demo/operations/none", undefined, 404, "not_found"],
  ["POST", "/admin/agents/none/revoke", undefined, 404, "not_found"],
  ["POST", "/admin/tokens", { cluster_id: "UPPER" }, 400, "invalid_request"],
  ["PUT", "/admin/releases/..", {}, 404, "not_found"],
  ["PUT", "/admin/releases/-", {}, 400, "invalid_request"],
  ["DELETE", "/admin/releases/none", undefined, 404, "not_found"],
  ["PUT", "/admin/clock", { offset_ms: 1e18 }, 400, "invalid_request"],
  ["PUT", "/admin/clock", { offset_ms: "1" }, 400, "invalid_request"],
  ["POST", "/admin/outage", {}, 400, "invalid_request"],
];

for (const [method, path, body, status, code] of WRONG) {
  Deno.test(`admin: answers ${status} to ${method} ${path} ${JSON.stringify(body) ?? ""}`, () =>
    inWorld(async (world) => {
      assertRefused(await world.admin(method, path, body as never), status, code);
    }));
}

Deno.test("admin: listens to loopback names only", () =>
  inWorld(async (world) => {
    const connection = await Deno.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(world.running.adminUrl).port),
    });
    const request = "GET /admin/state HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    await connection.write(new TextEncoder().encode(request));
    const answer = await new Response(connection.readable).text();
    assert.match(answer, /^HTTP\/1\.1 403 /);
  }));

Deno.test("metadata: tells the first server's ID, or the one of the path, and notes PBX headers", () =>
  inWorld(async (world) => {
    const leaf = "hetzner/v1/metadata/instance-id";
    const paths = [[`/${leaf}`, 4711001], [`/metadata/${leaf}`, 4711001]] as const;
    for (const [path, id] of [...paths, [`/metadata/server/42/${leaf}`, 42] as const]) {
      const response = await fetch(world.running.adminUrl + path);
      assert.deepEqual([response.status, await response.text()], [200, `${id}\n`]);
    }
    const rules = () => world.running.portal.memory.breaches.map(({ rule }) => rule);
    assert.deepEqual(rules(), []);
    await world.admin("GET", `/${leaf}`);
    assert.deepEqual(rules(), ["headers_outside_base"]);
  }));

Deno.test("createToken: makes a cluster that is new", () =>
  inWorld(async (world) => {
    const purpose = { cluster_id: "second", node_name: "second-1", server_id: "7" };
    const { body } = await world.admin("POST", "/admin/tokens", purpose);
    const { cluster_id, node_name, server_id } = purpose;
    const request = enrollBody(body.token, keysOf(2), { cluster_id, node_name, server_id });
    const answer = await world.client.send({ path: "/enroll", body: request });
    assert.deepEqual([answer.status, answer.body.cluster_id], [200, "second"]);
  }));

Deno.test("welcome: hands out a configuration that works as it is", () =>
  inWorld(async (world) => {
    const words = welcome(world.running);
    const config = parse(String(words["config_yaml"]));
    assert.deepEqual(config, {
      portal: world.running.url,
      cluster_id: "demo",
      node_name: "demo-1",
      enrollment_token: words["token"],
      metadata_url: world.running.adminUrl,
      portal_keys: words["portal_keys"],
    });
    const body = enrollBody(String(words["token"]), keysOf(1));
    assert.equal((await world.client.send({ path: "/enroll", body })).status, 200);
  }));

function plainTexts(world: Parameters<Parameters<typeof inWorld>[0]>[0]): string[] {
  const clusters = [...world.running.portal.state.clusters.values()];
  const text = JSON.stringify(clusters.map(({ bootstrap }) => bootstrap));
  return [...text.matchAll(/"plain":"([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** What no agent would take as it is, as the text of a call. */
const UNKEPT = ["9007199254740993", "1e400", "1e-400", '"\\ud83d"'];

Deno.test("admin: a value that no agent would take is refused, and sent where the admin insists", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const desired = "/admin/clusters/demo/desired";
    const document = world.running.portal.state.clusters.get("demo")?.desired.document;
    const put = (change: object, more: object = {}) =>
      world.admin(
        "PUT",
        desired,
        { desired: { ...document as object, ...change }, ...more } as never,
      );
    for (const text of UNKEPT) {
      const call = new TextEncoder().encode(
        `{"raw": true, "desired": {"revision": 2, "more": ${text}}}`,
      );
      assertRefused(await world.admin("PUT", desired, call), 400, "invalid_request");
      const change = { more: { raw_json: text } };
      assertRefused(await put(change), 400, "invalid_request");
      assertRefused(
        await world.admin("PATCH", "/admin/clusters/demo", { bootstrap: change }),
        400,
        "invalid_request",
      );
      const operations = "/admin/clusters/demo/operations";
      const offer = { kind: "snapshot.save", params: change };
      assertRefused(await world.admin("POST", operations, offer), 400, "invalid_request");

      assert.equal((await put(change, { raw: true })).status, 200);
      assert.equal(
        (await world.admin("POST", operations, { raw: { id: "op-1", ...offer } })).status,
        200,
      );
      // As an agent reads it: in both places, and in the same characters.
      const { text: sent } = await world.sync(agent);
      assert.equal(sent.split(`"more":${text}`).length, 3, sent);
      await world.admin("DELETE", `${operations}/op-1`);
    }
  }));

Deno.test("admin: options that the desired release does not know are refused", () =>
  inWorld(async (world) => {
    const document = world.running.portal.state.clusters.get("demo")?.desired.document;
    const put = (addon: object, raw: boolean) =>
      world.admin("PUT", "/admin/clusters/demo/desired", {
        raw,
        desired: {
          ...document as object,
          addons: [{ name: "external-dns", enabled: false, ...addon }],
        },
      } as never);
    const sealed = { plain: "a-token" };
    for (
      const addon of [
        { options: {}, secret_options: { other: sealed } },
        { options: { other: 1 } },
        { options: { api_token: "in clear" } },
        { options: {}, secret_options: { domain: sealed } },
      ]
    ) {
      assertRefused(await put(addon, false), 400, "invalid_request");
      assert.equal((await put(addon, true)).status, 200);
    }
    assert.equal(
      (await put({ options: {}, secret_options: { api_token: sealed } }, false)).status,
      200,
    );
  }));

Deno.test("enroll: public keys of small order are refused", () =>
  inWorld(async (world) => {
    const good = keysOf(3);
    const body = enrollBody(world.token, good) as { public_keys: Record<string, string> };
    for (const name of ["signing", "sealing"]) {
      for (const first of [0, 1]) {
        const weak = new Uint8Array(32);
        weak[0] = first;
        const public_keys = { ...body.public_keys, [name]: weak.toBase64() };
        const answer = await world.client.send({
          path: "/enroll",
          body: { ...body, public_keys } as never,
        });
        assertRefused(answer, 400, "invalid_request");
      }
    }
    await world.enroll(good);
  }));
