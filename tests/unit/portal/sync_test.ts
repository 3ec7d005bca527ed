import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { DesiredState } from "../../../core/protocol/desired_state.ts";
import { SyncAnswer } from "../../../core/protocol/sync.ts";
import { keysOf, open, rotateBody, syncBody } from "./client.ts";
import { assertRefused, inWorld } from "./world.ts";

const DESIRED = "/admin/clusters/demo/desired";

Deno.test("sync: answers as the schema says, sealed to the agent's key", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const { body } = await world.sync(agent);
    assert.ok(SyncAnswer.safeParse(body).success);
    assert.ok(DesiredState.safeParse(body.desired).success);
    assert.equal(body.time, "2026-03-01T12:00:00.000Z");
    assert.equal(body.operation, null);
    assert.match(body.desired_tag, /^[0-9a-f]{32}$/);
    const secret = open(agent.keys, body.desired.secrets.hcloud.token);
    assert.equal(secret, open(agent.keys, agent.answer.secrets.hcloud.token));
    assert.match(secret ?? "", /^[0-9a-f]{40}$/);
  }));

Deno.test("sync: a secret that is in both answers is sealed once, another one anew", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const { desired } = (await world.sync(agent)).body;
    assert.deepEqual(desired.secrets, agent.answer.secrets);
    const hcloud = { token: { plain: "another-token-of-the-cloud" } };
    await world.admin("PATCH", DESIRED, { secrets: { hcloud } });
    const changed = (await world.sync(agent)).body.desired.secrets;
    assert.equal(open(agent.keys, changed.hcloud.token), hcloud.token.plain);
    assert.equal(
      open(agent.keys, changed.etcd_s3.access_key),
      open(agent.keys, desired.secrets.etcd_s3.access_key),
    );
  }));

Deno.test("sync: sends the desired state until its tag comes back", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const first = (await world.sync(agent)).body;
    const known = { desired: { revision: 1, tag: first.desired_tag } };
    assert.equal((await world.sync(agent, known)).body.desired, null);
    const stale = { desired: { revision: 1, tag: "something else" } };
    assert.equal((await world.sync(agent, stale)).body.desired.revision, 1);

    const patch = { host: { snapshots: { retention: 7 } } };
    assert.equal((await world.admin("PATCH", DESIRED, patch)).status, 200);
    const second = (await world.sync(agent, known)).body;
    assert.deepEqual([second.desired.revision, second.desired.host.snapshots], [
      2,
      { schedule: "0 */6 * * *", retention: 7, compress: true },
    ]);
    assert.notEqual(second.desired_tag, first.desired_tag);
  }));

Deno.test("sync: a tag follows the content, secrets included", () =>
  inWorld(async (world) => {
    const put = async (token: string) => {
      const { body } = await world.sync(agent);
      const secrets = { hcloud: { token: { plain: token } } };
      const desired = { ...body.desired, revision: 1, secrets };
      return (await world.admin("PUT", DESIRED, { desired })).body.desired_tag;
    };
    const agent = await world.enroll();
    const first = await put("token-one");
    assert.notEqual(await put("token-two"), first);
    assert.equal(await put("token-one"), first);
  }));

Deno.test("sync: nobody can tell a secret from a tag by trying", async () => {
  const tags: string[] = [];
  for (const _portal of [1, 2]) {
    await inWorld(async (world) => {
      const answer = await world.admin("PUT", DESIRED, { desired: { same: 1 }, raw: true });
      tags.push(answer.body.desired_tag);
    });
  }
  assert.notEqual(tags[0], tags[1]);
});

Deno.test("sync: sends nothing where the portal has no desired state", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    await world.admin("PUT", DESIRED, { desired: null });
    const { body } = await world.sync(agent);
    assert.deepEqual([body.desired, body.desired_tag], [null, null]);
  }));

Deno.test("sync: raw sends anything, marks aside", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const other = keysOf(2);
    const desired = {
      clear: "a secret in clear",
      good: { plain: "for this agent" },
      foreign: { plain: "for another", to: other.public.sealing },
      odd: { verbatim: { plain: 5 } },
    };
    await world.admin("PUT", DESIRED, { desired, raw: true, tag: "" });
    const { body } = await world.sync(agent);
    assert.equal(body.desired_tag, "");
    assert.equal(body.desired.clear, desired.clear);
    assert.deepEqual(body.desired.odd, { plain: 5 });
    assert.equal(open(agent.keys, body.desired.good), "for this agent");
    assert.equal(open(agent.keys, body.desired.foreign), null);
    assert.equal(open(other, body.desired.foreign), "for another");
  }));

Deno.test("putDesired: refuses what no agent could take, unless it is raw", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const good = (await world.sync(agent)).body.desired;
    const desired = { ...good, secrets: { hcloud: { token: "in clear" } } };
    const answer = await world.admin("PUT", DESIRED, { desired });
    assertRefused(answer, 400, "invalid_request", "desired: secrets.hcloud.token");
    assert.equal((await world.admin("PUT", DESIRED, { desired, raw: true })).status, 200);
    assert.equal((await world.sync(agent)).body.desired.secrets.hcloud.token, "in clear");
  }));

const REPORT = syncBody() as { agent: JsonObject; node: JsonObject };
const CONDITION = { code: "disk_full", message: "no room", since: "2026-03-01T12:00:00Z" };

/** Each: what is wrong with a report, the change, the words that say so. */
const REFUSALS: readonly [string, JsonObject, string][] = [
  ["another node's name", { node: { ...REPORT.node, name: "demo-2" } }, "node.name"],
  ["another server", { node: { ...REPORT.node, server_id: "1" } }, "node.server_id"],
  ["another architecture", { agent: { ...REPORT.agent, arch: "arm64" } }, "agent.arch"],
  ["a tag without a revision", { desired: { revision: null, tag: "x" } }, "desired"],
  ["a revision without a tag", { desired: { revision: 1, tag: null } }, "desired"],
  ["a condition twice", { conditions: [CONDITION, CONDITION] }, "conditions"],
  ["a condition nobody knows", { conditions: [{ ...CONDITION, code: "tired" }] }, "conditions"],
  ["a condition that cannot be sent", {
    conditions: [{ ...CONDITION, code: "identity_unreadable" }],
  }, "conditions"],
  ["an add-on twice", {
    addons: [{ name: "a", state: "applied" }, { name: "a", state: "failed" }],
  }, "addons"],
  ["a time without a zone", {
    conditions: [{ ...CONDITION, since: "2026-03-01T12:00:00" }],
  }, "since"],
  ["bytes with a fraction", { node: { ...REPORT.node, disk_free_bytes: 0.5 } }, "disk_free_bytes"],
];

for (const [what, changes, words] of REFUSALS) {
  Deno.test(`sync: refuses ${what}`, () =>
    inWorld(async (world) => {
      const agent = await world.enroll();
      assertRefused(await world.sync(agent, changes), 400, "invalid_request", words);
      assert.equal((await world.sync(agent)).status, 200);
    }));
}

/** Each: what a reader ignores, the change, the words of the breach. */
const IGNORED: readonly [string, JsonObject, string][] = [
  ["an unknown field", { extra: 1 }, "extra"],
  ["an unknown field further in", { node: { ...REPORT.node, ip: "1" } }, "node.ip"],
  ["an unknown field in a list", {
    addons: [{ name: "a", state: "applied", extra: 1 }],
  }, "addons.0.extra"],
  ["another version", { agent: { ...REPORT.agent, version: "9" } }, "agent.version"],
];

for (const [what, changes, words] of IGNORED) {
  Deno.test(`sync: takes ${what}, and notes it`, () =>
    inWorld(async (world) => {
      const agent = await world.enroll();
      assert.equal((await world.sync(agent, changes)).status, 200);
      const [breach, ...more] = world.running.portal.memory.breaches;
      assert.ok(breach?.message.startsWith(words), breach?.message);
      assert.equal(breach?.agent, agent.id);
      assert.deepEqual(more, []);
    }));
}

Deno.test("sync: takes an uptime with a fraction of a second", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const node = { ...REPORT.node, uptime_s: 12.5 };
    assert.equal((await world.sync(agent, { node })).status, 200);
  }));

Deno.test("sync: refuses a body that holds a secret of the cluster, and notes it", () =>
  inWorld(async (world) => {
    const agent = await world.enroll();
    const secret = open(agent.keys, agent.answer.k3s.token) ?? "";
    for (const message of [`it was ${secret}!`, btoa(secret)]) {
      const answer = await world.sync(agent, { conditions: [{ ...CONDITION, message }] });
      assertRefused(answer, 400, "secret_in_clear");
    }
    const state = await world.admin("GET", "/admin/state");
    assert.deepEqual(state.body.breaches.map((breach: { rule: string }) => breach.rule), [
      "secret_in_clear",
      "secret_in_clear",
    ]);
    assert.ok(!JSON.stringify(state.body).includes(secret));
  }));

Deno.test("rotateKey: the portal seals to the new key at once", () =>
  inWorld(async (world) => {
    const { id, keys } = await world.enroll();
    const fresh = keysOf(2);
    const rotate = { path: "/rotate-key", body: rotateBody(id, fresh), agent: { id, keys } };
    assert.equal((await world.client.send(rotate)).status, 200);
    // Still signed with the old key.
    const { body } = await world.sync({ id, keys });
    assert.match(open(fresh, body.desired.secrets.hcloud.token) ?? "", /^[0-9a-f]{40}$/);
    assert.equal(open(keys, body.desired.secrets.hcloud.token), null);
  }));
