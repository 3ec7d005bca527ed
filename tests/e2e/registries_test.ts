import assert from "node:assert/strict";
import type { JsonObject } from "../../core/json.ts";
import type { SyncRequest } from "../../core/protocol/sync.ts";
import { approve, ownerTest } from "./owner.ts";
import { inWorld, type World } from "./world.ts";

const FILE = "/etc/rancher/k3s/registries.yaml";
const PASSWORD = "mirror-password-that-nobody-may-see";
const REGISTRIES = {
  mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
  configs: { "mirror.example.com": { username: "ada", password: { plain: PASSWORD } } },
};
const EVIL = { mirrors: { "docker.io": { endpoint: ["https://evil.example.com"] } } };
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NEVER = { timezone: "UTC", windows: [] };
const ALWAYS = { timezone: "UTC", windows: [{ days: DAYS, start: "00:00", minutes: 1440 }] };

async function release(world: World, version: string, registries: readonly string[]) {
  const first = world.running.portal.state.releases.get("1.0.0");
  const payload = { ...first?.payload as JsonObject, version, k3s: { registries } };
  await world.admin("PUT", `/releases/${version}`, { payload });
  await world.desire({ release: version });
}

async function condition(world: World, code: string): Promise<string> {
  return await world.until(
    code,
    () =>
      world.report()?.conditions.find((one: SyncRequest["conditions"][number]) => one.code === code)
        ?.message ?? null,
  );
}

const file = (world: World) => world.read(FILE).catch(() => null);

Deno.test("registries: without approval_keys only those that the release names get to k3s", async () => {
  await inWorld(async (world) => {
    await world.desire({ maintenance: NEVER });
    const agent = await world.startSynced();
    await world.desire({ host: { registries: EVIL } });
    assert.match(await condition(world, "registries_refused"), /docker\.io/);
    await release(world, "1.1.0", ["docker.io", "mirror.example.com"]);
    await world.until(
      "the endpoint's name",
      async () => /evil\.example\.com/.test(await condition(world, "registries_refused")),
    );
    assert.equal(await file(world), null);

    await world.desire({ host: { registries: REGISTRIES } });
    assert.match(await condition(world, "k3s_restart_pending"), /registries\.yaml/);
    assert.match(
      await file(world) ?? "",
      /^# Managed by pbx-agent.*\n\nmirrors:\n {2}"docker\.io":/,
    );
    assert.match(await file(world) ?? "", new RegExp(`password: "${PASSWORD}"`));
    assert.equal(((await Deno.stat(world.root + FILE)).mode ?? 0) & 0o777, 0o600);
    const status = await world.cli("status");
    assert.deepEqual(JSON.parse(status.stdout).registries, {
      mirrors: { "docker.io": ["https://mirror.example.com"] },
      credentials: ["mirror.example.com"],
      file: "own",
    });
    const plan = await world.cli("plan", "--json");
    assert.deepEqual(JSON.parse(plan.stdout).host, []);

    await world.desire({ maintenance: ALWAYS });
    await world.until("the restart", () => world.report()?.pending.k3s_restart === false);
    assert.equal(
      (await world.node.systemctlCalls()).filter((call) => /^restart k3s/.test(call)).length,
      1,
    );
    for (const text of [status.stdout, plan.stdout, agent.stderr()]) {
      assert.equal(text.includes(PASSWORD), false);
    }
    await agent.stop();
  });
});

ownerTest(
  "registries: with approval_keys nobody but the owner says where images come from",
  async (world, owner) => {
    const agent = await world.startSynced();
    const document = world.running.portal.state.clusters.get("demo")?.desired.document;
    const accepted = JSON.parse(JSON.stringify(document));

    // That the release names them is not enough.
    await release(world, "1.1.0", ["docker.io", "mirror.example.com", "evil.example.com"]);
    await world.desire({ host: { registries: REGISTRIES } });
    await condition(world, "approval_missing");
    assert.equal(await file(world), null);

    const { shown: { what, text }, others, approval } = await approve(world, owner, { accepted });
    assert.deepEqual([what, others], ["registries", []]);
    assert.match(
      text,
      /\nfrom: null\nto: \{"configs":\{"mirror\.example\.com":\{"password":\{"sealed":true\}/,
    );
    const approvals = [{ what, ...approval }];
    await world.desire({ approvals });
    await world.until("the file", async () => (await file(world))?.includes(PASSWORD) === true);

    // Another password needs no approval, another mirror does, and the old signature is no help.
    const configs = { "mirror.example.com": { password: { plain: "another-password" } } };
    await world.desire({ host: { registries: { configs } }, approvals: null });
    await world.until(
      "the password",
      async () => (await file(world))?.includes("another-password") === true,
    );
    await world.desire({ host: { registries: EVIL }, approvals });
    await condition(world, "approval_invalid");
    assert.equal((await file(world))?.includes("evil"), false);
    await agent.stop();
  },
);
