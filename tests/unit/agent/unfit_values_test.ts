import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { BOOTSTRAP_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, createWorld } from "./world.ts";

/** A number or a string that no JavaScript value is, as a portal may write it. */
const raw = (text: string) => ({ raw_json: text });

function textOf(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

/** What would not stay what it is: a neighbour, an infinity, zero, fewer digits, another text. */
const UNFIT = ["9007199254740993", "-9007199254740992", "1e400", "-1e999", "1e-400"]
  .concat(["0.1000000000000000055511151231257827", '"half \\ud83d"']);

function addonWith(value: JsonObject): JsonObject {
  const addon = { name: "external-dns", enabled: true };
  return { addons: [{ ...addon, options: { domain: "a.b", more: [1, { size: value }] } }] };
}

Deno.test("unfit: inside desired it refuses the desired state, and holds back no operation", async () => {
  for (const text of UNFIT) {
    const world = await createSettledWorld();
    const places: JsonObject[] = [
      addonWith(raw(text)),
      { of_a_later_version: raw(text) },
      { host: { snapshots: { retention: raw(text) } } },
      { secrets: { hcloud: { network: raw(text) } } },
      { revision: raw(text) },
    ];
    for (const [index, patch] of places.entries()) {
      const shown = `${text} in ${JSON.stringify(patch)}`;
      world.portal.cluster.desired = {
        document: { ...world.portal.cluster.desired.document as JsonObject, ...patch },
        raw: true,
        tag: `tag-${index}`,
      };
      const operation = world.portal.offer({ id: `op-${index}`, kind: "no.such", params: {} });
      await world.pass(70_000);
      assert.deepEqual(world.conditions(), ["invalid_desired_state"], shown);
      const [condition] = world.lastReport().conditions;
      assert.match(condition?.message ?? "", /^desired\./, shown);
      assert.equal(operation.result?.state, "unsupported", shown);
      assert.equal(world.lastReport().desired.revision, 1, shown);
    }
    await world.stop();
  }
});

Deno.test("unfit: inside an operation it is a wrong parameter, and holds back no desired state", async () => {
  const world = await createSettledWorld();
  const offers: JsonObject[] = UNFIT.flatMap((text) => [
    { kind: "snapshot.save", params: { name: raw(text) } },
    { kind: "snapshot.save", params: { more: [raw(text)] } },
    { kind: "snapshot.save", params: {}, expires_at: raw(text) },
    { kind: "snapshot.save", params: {}, of_a_later_version: raw(text) },
  ]);
  for (const [index, offer] of offers.entries()) {
    const id = `op-${index}`;
    world.portal.desire({ revision: 10 + index });
    const operation = world.portal.offer({ id, ...offer });
    await world.pass(70_000);
    const shown = JSON.stringify(offer);
    assert.equal(operation.result?.state, "refused", shown);
    assert.equal(operation.result?.code, "invalid_params", shown);
    assert.match(operation.result?.message ?? "", /operation\.|expires_at/, shown);
    assert.equal(world.lastReport().desired.revision, 10 + index, shown);
    assert.deepEqual(world.conditions(), [], shown);
  }
  // The protocol's order of refusals holds: what is unknown is unknown, with whatever parameters.
  const unknown = world.portal.offer({ id: "op-x", kind: "no.such", params: { a: raw("1e400") } });
  const expired = world.portal.offer({
    id: "op-y",
    kind: "snapshot.save",
    params: { a: raw("1e400") },
    expires_at: "2025-01-01T00:00:00Z",
  });
  const denied = world.portal.offer({
    id: "op-z",
    kind: "diag.collect",
    params: { a: raw("1e9999") },
  });
  await world.pass(200_000);
  assert.equal(unknown.result?.state, "unsupported");
  assert.equal(expired.result?.code, "expired");
  assert.equal(denied.result?.code, "consent_missing");
  await world.stop();
});

Deno.test("unfit: in the envelope of an answer to a sync it makes the answer malformed", async () => {
  for (const text of UNFIT) {
    const world = await createSettledWorld();
    world.portal.desire({ servers: 1 });
    const peer = world.portal.peer.bind(world.portal);
    let isSpoilt = true;
    world.portal.peer = async (request) => {
      const reply = await peer(request);
      if (!isSpoilt || !request.url.endsWith("/sync") || !("body" in reply)) return reply;
      const body = textOf(reply.body).replace("{", `{"later":[${text}],`);
      return { ...reply, body: new TextEncoder().encode(body) };
    };
    await world.pass(70_000);
    assert.equal((await world.status()).trouble?.code, "malformed_answer", text);
    assert.equal(world.lastReport().desired.revision, 1, text);
    isSpoilt = false;
    await world.pass(400_000);
    assert.equal(world.lastReport().desired.revision, 2, text);
    await world.stop();
  }
});

Deno.test("unfit: an answer to the enrollment with it is malformed, and nothing is stored", async () => {
  for (const text of UNFIT) {
    for (const place of ["https-listen-port", "node-label"]) {
      const world = createWorld();
      const { bootstrap } = world.portal.cluster;
      const k3s = bootstrap["k3s"] as JsonObject;
      const config = { ...k3s["config"] as JsonObject, [place]: [raw(text)] };
      world.portal.cluster.bootstrap = { ...bootstrap, k3s: { ...k3s, config } };
      world.start();
      await world.pass(1_000);
      const { trouble } = await world.status();
      assert.equal(trouble?.code, "malformed_answer", text);
      assert.match(trouble?.message ?? "", /k3s\.config\./, text);
      assert.equal(world.stored(BOOTSTRAP_FILE), null, text);
      await world.stop();
    }
  }
});

Deno.test("unfit: a secret in clear is told before a number", async () => {
  const world = await createSettledWorld();
  world.portal.desire({
    revision: raw("1e400"),
    secrets: { hcloud: { token: "hunter2hunter2", network: raw("1e400") } },
  });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["unsealed_secret"]);
  await world.stop();
});

Deno.test("unfit: an answer to events with it is malformed, and the events are sent again", async () => {
  const world = await createSettledWorld();
  const peer = world.portal.peer.bind(world.portal);
  let isSpoilt = true;
  world.portal.peer = async (request) => {
    const reply = await peer(request);
    if (!isSpoilt || !request.url.endsWith("/events") || !("body" in reply)) return reply;
    const body = textOf(reply.body).replace("{", '{"later":1e400,');
    return { ...reply, body: new TextEncoder().encode(body) };
  };
  const operation = world.portal.offer({ id: "op-1", kind: "no.such", params: {} });
  await world.pass(70_000);
  assert.equal(operation.result?.state, "unsupported");
  assert.notEqual(world.stored().operation, null, "taken as acknowledged");
  isSpoilt = false;
  await world.pass(400_000);
  assert.equal(world.stored().operation, null);
  await world.stop();
});

Deno.test("unfit: a release whose manifest holds it is rejected", async () => {
  const world = await createSettledWorld();
  const [version, release] = [...world.portal.portal.state.releases][0] ?? [];
  assert.ok(version !== undefined && release !== undefined);
  const payload = JSON.stringify({ ...release.payload as JsonObject, version: "9.9.9" });
  world.portal.portal.state.releases.set("9.9.9", {
    ...release,
    payload: payload.replace("{", '{"later":9007199254740993,'),
  });
  world.portal.desire({ release: "9.9.9" });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["manifest_rejected"]);
  assert.match(world.lastReport().conditions[0]?.message ?? "", /later: is an integer beyond/);
  await world.stop();
});

Deno.test("unfit: beside the members of an error it hinders nobody", async () => {
  const world = await createSettledWorld();
  const time = new Date(world.clock.now() + 3_600_000).toISOString();
  world.portal.fault({
    match: { path: "/sync" },
    action: {
      status: 409,
      text: `{"error":{"code":"clock_skew","message":"","time":"${time}","later":1e400}}`,
    },
  });
  await world.pass(40_000);
  // The code counted: the request was signed once more, with the portal's time.
  const signed = world.signed().map(({ timestamp }) => Number(timestamp));
  assert.ok(signed.some((second) => second * 1_000 >= Date.parse(time)), String(signed));
  await world.stop();
});
