import assert from "node:assert/strict";
import { planText } from "../../../cli/plan_text.ts";
import { readPlan } from "../../../core/agent/plan_view.ts";
import type { JsonObject, JsonValue } from "../../../core/json.ts";
import { IDENTITY_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { approve, settled as approvedWorld } from "./owner.ts";
import { RELEASE_PUBLIC_KEYS } from "./portal_inside.ts";
import { createSettledWorld, type World } from "./world.ts";

const FILE = "/etc/rancher/k3s/registries.yaml";
const PASSWORD = "the-password-of-the-mirror";
const REGISTRIES = {
  mirrors: { "docker.io": { endpoint: ["https://mirror.example.com"] } },
  configs: { "mirror.example.com": { username: "ada", password: { plain: PASSWORD } } },
};
const NAMED = ["docker.io", "mirror.example.com"];
const FOREIGN = "mirrors:\n  ghcr.io: {}\n";

/** A release that is the first one but for the registries that it names. */
function release(world: World, version: string, registries: JsonValue): void {
  const { releases } = world.portal.portal.state;
  const first = releases.get("1.0.0");
  assert.ok(first !== undefined);
  const payload = { ...first.payload as JsonObject, version, k3s: { registries } };
  releases.set(version, { ...first, payload });
}

async function desire(world: World, registries: JsonValue, more: JsonObject = {}): Promise<void> {
  world.portal.desire({ host: { registries }, ...more });
  await world.pass(80_000);
}

/** A settled node whose release names the registries. */
async function settled(): Promise<World> {
  const world = await createSettledWorld();
  release(world, "1.1.0", NAMED);
  world.portal.desire({ release: "1.1.0", maintenance: { timezone: "UTC", windows: [] } });
  await world.pass(80_000);
  return world;
}

const revision = (world: World): number => world.stored().desired.state.revision;
const restarts = (world: World) =>
  world.systemd.calls.filter((call) => call === "restart k3s.service").length;

/** Every place that words come to from the agent, without its own disk and the portal's document. */
function assertUntold(world: World): void {
  for (const secret of [PASSWORD, btoa(PASSWORD).slice(0, 30)]) {
    assert.equal(JSON.stringify(world.log.records()).includes(secret), false);
    assert.equal(JSON.stringify(world.reports()).includes(secret), false);
    assert.equal(world.disk.text(STATE_FILE)?.includes(secret), false);
  }
}

Deno.test("registries: written at once for root alone, and k3s is restarted for them in a window", async () => {
  const world = await settled();
  assert.equal(world.disk.text(FILE), null);
  await desire(world, REGISTRIES);
  assert.match(world.disk.text(FILE) ?? "", new RegExp(`^      password: "${PASSWORD}"$`, "m"));
  const inspected = await world.disk.inspect(FILE);
  assert.ok(inspected.ok);
  assert.equal(inspected.value?.mode, 0o600);
  assert.equal(world.lastReport().pending.reason, "k3s runs without the change of registries.yaml");
  assert.equal(restarts(world), 0);
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  const windows = [{ days, start: "00:00", minutes: 1440 }];
  world.portal.desire({ maintenance: { timezone: "UTC", windows } });
  await world.pass(80_000);
  assert.equal(restarts(world), 1);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.deepEqual(world.conditions(), []);

  const configs = { "mirror.example.com": { password: { plain: "another-password" } } };
  await desire(world, { configs });
  assert.match(world.disk.text(FILE) ?? "", /another-password/);
  assert.equal(restarts(world), 2);
  await desire(world, null);
  assert.equal(world.disk.text(FILE), null);
  assert.equal(restarts(world), 3);
  await world.pass(200_000);
  assert.equal(restarts(world), 3);
  assertUntold(world);
  await world.stop();
});

Deno.test("registries: one that the release does not name refuses the desired state as a whole", async () => {
  const world = await settled();
  const before = revision(world);
  const evil: [JsonObject, RegExp][] = [
    [{ mirrors: { "ghcr.io": { endpoint: [] } } }, /the registry ghcr\.io is not one that/],
    [
      { mirrors: { "docker.io": { endpoint: ["https://evil.example.com"] } } },
      /the endpoint https:\/\/evil\.example\.com of docker\.io is not/,
    ],
    [{ configs: { "evil.example.com": { username: "ada" } } }, /evil\.example\.com/],
  ];
  for (const [registries, why] of evil) {
    await desire(world, registries, { servers: 1 });
    assert.deepEqual(world.conditions(), ["registries_refused"]);
    assert.match(world.lastReport().conditions[0]?.message ?? "", why);
    assert.equal(revision(world), before);
    assert.equal(world.disk.text(FILE), null);
    await desire(world, null);
    assert.deepEqual(world.conditions(), []);
    world.portal.desire({ revision: before });
    await world.pass(40_000);
  }
  // A release that names none allows none.
  release(world, "1.2.0", undefined as unknown as JsonValue);
  await desire(world, REGISTRIES, { release: "1.2.0" });
  assert.deepEqual(world.conditions(), ["registries_refused"]);
  await desire(world, REGISTRIES, { release: "1.1.0" });
  assert.deepEqual(world.conditions(), ["k3s_restart_pending"]);
  await world.stop();
});

Deno.test("registries: a person's own file is neither written over nor removed, and that is said", async () => {
  const world = await settled();
  world.disk.put(FILE, FOREIGN);
  await world.pass(80_000);
  assert.deepEqual(world.conditions(), []);
  await desire(world, REGISTRIES);
  assert.equal(world.disk.text(FILE), FOREIGN);
  assert.deepEqual(world.conditions(), ["k3s_setting_refused"]);
  const [{ message } = { message: "" }] = world.lastReport().conditions;
  assert.match(message, /registries\.yaml was not written by pbx-agent .* mirrors and configs/);
  assert.deepEqual(world.lastReport().pending, { k3s_restart: false });
  assert.equal((await world.status()).registries?.file, "foreign");
  await desire(world, null);
  assert.equal(world.disk.text(FILE), FOREIGN);
  assert.deepEqual(world.conditions(), []);

  // Once the person has taken it away, the agent writes its own.
  await desire(world, REGISTRIES);
  await world.disk.remove(FILE);
  await world.pass(80_000);
  assert.match(world.disk.text(FILE) ?? "", /^# Managed by pbx-agent/);
  assert.deepEqual(world.conditions(), ["k3s_restart_pending"]);
  await world.stop();
});

Deno.test("registries: the agent's own file is put back after changes by hand", async () => {
  const world = await settled();
  await desire(world, REGISTRIES);
  const own = world.disk.text(FILE) ?? "";
  for (const changed of [`${own}# by hand\n`, own.replace(PASSWORD, "changed")]) {
    world.disk.put(FILE, changed);
    await world.pass(40_000);
    assert.equal(world.disk.text(FILE), own);
  }
  // Once k3s runs with it, without its first line too.
  const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
  const windows = [{ days, start: "00:00", minutes: 1440 }];
  world.portal.desire({ maintenance: { timezone: "UTC", windows } });
  await world.pass(80_000);
  assert.equal(restarts(world), 1);
  world.disk.put(FILE, FOREIGN);
  await world.pass(40_000);
  assert.equal(world.disk.text(FILE), own);
  assert.equal(restarts(world), 1);
  await world.stop();
});

Deno.test("registries: the file outlives a lost state, and whether k3s runs with it is not known then", async () => {
  const world = await settled();
  await desire(world, REGISTRIES);
  const own = world.disk.text(FILE);
  await world.stop();
  world.disk.put(STATE_FILE, "");
  world.start();
  await world.pass(80_000);
  assert.equal(world.disk.text(FILE), own);
  assert.match(world.lastReport().pending.reason ?? "", /registries\.yaml/);
  await world.stop();
});

Deno.test("registries: their secrets survive a rotation of the keys, and the file stays as it is", async () => {
  const world = await settled();
  await desire(world, REGISTRIES);
  const own = world.disk.text(FILE);
  const queued = world.portal.offer({ id: "op-1", kind: "agent.rotate_key", params: {} });
  await world.pass(120_000);
  assert.equal(queued.result?.state, "succeeded", JSON.stringify(queued.result));
  await world.stop();
  await world.disk.remove(FILE);
  world.portal.down = true;
  world.start();
  await world.pass(40_000);
  assert.equal(world.disk.text(FILE), own);
  assertUntold(world);
  await world.stop();
});

Deno.test("registries: a secret in clear, or a box for another position, refuses the whole answer", async () => {
  const world = await settled();
  const login = (password: JsonValue) => ({ configs: { "docker.io": { password } } });
  const rows: [JsonValue, string][] = [
    [{ verbatim: "in-clear" }, "unsealed_secret"],
    [{ plain: PASSWORD, position: "desired:host.registries.ghcr.io.password" }, "misplaced_secret"],
    [
      { plain: PASSWORD, position: "desired:host.registries.docker.io.identity_token" },
      "misplaced_secret",
    ],
  ];
  for (const [password, code] of rows) {
    await desire(world, login(password));
    assert.deepEqual(world.conditions(), [code]);
    assert.equal(world.disk.text(FILE), null);
    await desire(world, null);
  }
  await desire(world, login({ plain: PASSWORD }));
  assert.match(world.disk.text(FILE) ?? "", new RegExp(PASSWORD));
  await world.stop();
});

Deno.test("registries: plan and status say where images come from, and no credentials", async () => {
  const world = await settled();
  assert.equal((await world.status()).registries, null);
  await desire(world, REGISTRIES);
  assert.deepEqual((await world.status()).registries, {
    mirrors: { "docker.io": ["https://mirror.example.com"] },
    credentials: ["mirror.example.com"],
    file: "own",
  });
  const plan = async () => {
    const read = await readPlan(world.disk, world.k8s, RELEASE_PUBLIC_KEYS);
    assert.ok(read.ok, JSON.stringify(read));
    for (const told of [JSON.stringify(read.value), planText(read.value)]) {
      assert.equal(told.includes(PASSWORD), false);
    }
    return [read.value.host, planText(read.value)] as const;
  };
  assert.deepEqual((await plan())[0], []);
  await world.stop();
  const own = world.disk.text(FILE) ?? "";
  const rows: [string | null, string, string][] = [
    [null, "write", "it is not there"],
    [`${own}#`, "write", "it is not as the desired state says"],
    [FOREIGN, "keep", "pbx-agent did not write it, so host.registries do not apply"],
  ];
  for (const [content, action, why] of rows) {
    if (content === null) await world.disk.remove(FILE);
    else world.disk.put(FILE, content);
    const [host, text] = await plan();
    assert.deepEqual(host, [{ action, path: FILE, why }]);
    assert.match(text, new RegExp(`\\n  ${action.padEnd(6)} ${FILE}: ${why}\\n`));
  }
});

Deno.test("registries: with approval_keys the owner approves where images come from, not credentials", async () => {
  const world = await approvedWorld();
  const want = async (registries: JsonValue, approvals: JsonValue = null) => {
    world.portal.desire({ host: { registries }, approvals });
    await world.pass(80_000);
  };
  const mirrors = (host: string) => ({ "docker.io": { endpoint: [`https://${host}`] } });
  const login = (plain: string) => ({ "mirror.test": { username: "ada", password: { plain } } });
  const shown = {
    mirrors: mirrors("mirror.test"),
    configs: { "mirror.test": { username: "ada", password: { sealed: true } } },
  };
  const whole = { ...shown, configs: login("one") };
  const file = () => world.disk.text(FILE);
  const said = (of: World) => of.conditions().filter((code) => code.startsWith("approval_"));
  const change = (from: JsonValue, to: JsonValue) => (
    { kind: "change", what: "registries", from, to } as const
  );
  await want(whole);
  assert.deepEqual(said(world), ["approval_missing"]);
  assert.equal(file(), null);
  await want(whole, [approve(world, change(null, whole))]);
  assert.deepEqual(said(world), ["approval_invalid"], "another text: the secret is not part of it");
  const first = approve(world, change(null, shown));
  await want(whole, [first]);
  assert.deepEqual(said(world), []);
  assert.match(file() ?? "", /password: "one"/);

  await want({ configs: login("two") });
  assert.deepEqual(said(world), []);
  assert.match(file() ?? "", /password: "two"/);
  await want({ mirrors: mirrors("evil.test") });
  assert.deepEqual(said(world), ["approval_missing"]);
  await want(null);
  assert.deepEqual(said(world), ["approval_missing"]);
  assert.match(file() ?? "", /mirror\.test/);

  // Not by losing state.json either: what was accepted last is known, without its secrets.
  await world.stop();
  assert.deepEqual(world.stored(IDENTITY_FILE).registries, shown);
  world.disk.put(STATE_FILE, "");
  world.start();
  await world.pass(120_000);
  assert.deepEqual(said(world), ["approval_missing"]);
  await want(null, [approve(world, change(shown, null))]);
  assert.deepEqual(said(world), []);
  assert.equal(file(), null);
  assert.equal(world.stored(IDENTITY_FILE).registries, null);
  await want(whole, [first]);
  assert.deepEqual(said(world), ["approval_invalid"], "it works once");
  await world.stop();
});
