import assert from "node:assert/strict";
import { openFirstConfigs } from "../../../core/agent/first_config.ts";
import { advanceFirstStart } from "../../../core/agent/first_start.ts";
import { openReleases } from "../../../core/agent/releases.ts";
import {
  BOOTSTRAP_FILE,
  CONFIG_FILE,
  IDENTITY_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { createMachine, openAgent } from "../operations/machine.ts";
import { assertStarted, ownFiles, plainSecrets } from "./started.ts";
import { configYaml, createSettledWorld, createWorld, type World } from "./world.ts";

const MANIFEST = "/var/lib/rancher/k3s/server/manifests/pbx-hcloud-cloud-controller-manager.yaml";

async function runOn(world: World, config: string | Uint8Array): Promise<Uint8Array> {
  world.disk.put(CONFIG_FILE, config);
  world.start();
  await world.pass(1_000);
  await world.stop();
  const read = await world.disk.read(CONFIG_FILE);
  assert.ok(read.ok && read.value !== null);
  return read.value;
}

Deno.test("first start: from a fresh server to a cluster that has its Secrets", async () => {
  const world = createWorld();
  world.start();
  await world.pass(70_000);
  await assertStarted(world);
  assert.match(world.disk.text(MANIFEST) ?? "", /^kind: HelmChart$/m);
  assert.deepEqual(world.portal.asked().slice(0, 3), [
    ...["POST /enroll 200", "POST /sync 200", "GET /releases/1.0.0/manifest 200"],
  ]);
  assert.deepEqual(world.portal.portal.memory.breaches, []);
  assert.equal(world.stored().stage, "syncing");
  await world.stop();
});

Deno.test("first start: keys are stored before they are used", async () => {
  const world = createWorld();
  world.disk.setReadOnly(true);
  world.start();
  await world.pass(60_000);
  assert.equal(world.requests("/enroll"), 0);
  assert.deepEqual(world.disk.paths().filter((path) => path.startsWith("/var/lib/pbx")), []);
  world.disk.setReadOnly(false);
  await world.pass(70_000);
  await assertStarted(world);
  await world.stop();
});

Deno.test("first start: secrets are on the disk sealed but for k3s's own token, and in no log", async () => {
  const world = await createSettledWorld();
  await world.stop();
  const { k3s, hcloud, s3 } = plainSecrets(world);
  const holders = (secret: string) =>
    ownFiles(world).filter((path) => world.disk.text(path)?.includes(secret));
  assert.deepEqual(holders(k3s), ["/etc/rancher/k3s/config.yaml"]);
  assert.deepEqual([...holders(hcloud), ...holders(s3)], []);
  for (const secret of [k3s, hcloud, s3, world.stored(IDENTITY_FILE).keys.signing]) {
    assert.ok(!world.log.text().includes(secret));
  }
});

Deno.test("first start: waits for k3s's own kinds, which come up after /readyz", async () => {
  const world = createWorld();
  world.start();
  const waits = /k3s's own kinds are not there yet/;
  for (let step = 0; step < 100 && !waits.test(world.log.text()); step++) await world.pass(100);
  assert.match(world.log.text(), waits);
  assert.equal(world.stored().first_start, "wait_api");
  assert.equal(world.k8s.writes(), 0);
  await world.pass(4_000);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

Deno.test("first start: while a restore holds k3s, nothing starts it", async () => {
  const world = createWorld();
  world.disk.put("/var/lib/pbx-agent/hold-k3s", "");
  world.start();
  await world.pass(70_000);
  assert.deepEqual(world.systemd.calls, []);
  await world.disk.remove("/var/lib/pbx-agent/hold-k3s");
  await world.pass(36_000);
  assert.equal(world.stored().first_start, "done");
  await world.stop();
});

Deno.test("first start: no cluster is this node's before a restore under way has proven it", async () => {
  const machine = createMachine();
  const state = JSON.parse(machine.disk.text(STATE_FILE) ?? "");
  const journal = { step: "wait_api", steps: [], handed: {}, events: [], seq: 0 };
  const params = { snapshot: "x", from: "s3" };
  const begun_at = new Date(machine.clock.now()).toISOString();
  const operation = { id: "op-1", kind: "cluster.restore", params, begun_at, ...journal };
  const started = { ...state, first_start: "wait_api", kube_system_uid: null };
  for (const [now, uid] of [[operation, null], [null, "known"]] as const) {
    machine.disk.put(STATE_FILE, JSON.stringify({ ...started, operation: now }));
    const context = await openAgent(machine.ports);
    const advance = await advanceFirstStart(context, openFirstConfigs(openReleases()));
    if (!advance.moved) assert.match(advance.why, /cluster\.restore op-1 is under way/);
    assert.equal(advance.moved, uid !== null);
    assert.equal(context.store.state.kube_system_uid === null, uid === null);
  }
});

Deno.test("first start: what the API refuses is tried again", async () => {
  const world = createWorld();
  world.start();
  await world.pass(5_000);
  const refused = { kind: "status", status: 503, reason: "ServiceUnavailable" } as const;
  world.k8s.breakWith(refused);
  await world.pass(20_000);
  assert.notEqual(world.stored().first_start, "done");
  world.k8s.breakWith(null);
  await world.pass(50_000);
  await assertStarted(world);
  await world.stop();
});

Deno.test("first start: the token leaves the configuration, every other byte stays", async () => {
  const token = /enrollment_token[^\n]*\n/;
  const world = createWorld();
  const whole = configYaml(world.portal.token());
  const crlf = whole.replaceAll("\n", "\r\n");
  const encode = (text: string) => new TextEncoder().encode(text);
  assert.deepEqual(await runOn(world, crlf), encode(crlf.replace(token, "")));

  const other = createWorld();
  const text = `\ufeff# für dich\n${configYaml(other.portal.token())}`;
  assert.deepEqual(await runOn(other, text), encode(text.replace(token, "")));
});

Deno.test("first start: a comment in another encoding stays as it is", async () => {
  const world = createWorld();
  const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
  const text = `# f\u00fcr dich\n${configYaml(world.portal.token())}`;
  const left = await runOn(world, latin1(text));
  assert.deepEqual(left, latin1(text.replace(/enrollment_token[^\n]*\n/, "")));
});

Deno.test("first start: the token goes later where the configuration cannot be read or written at first", async () => {
  for (const operation of ["read", "write"] as const) {
    const world = createWorld();
    world.disk.onCall((call, path) =>
      call === operation && path.startsWith(CONFIG_FILE) ? "io" : null
    );
    world.start();
    await world.pass(36_000);
    assert.match(world.disk.text(CONFIG_FILE) ?? "", /enrollment_token/);
    world.disk.onCall(null);
    await world.pass(70_000);
    await assertStarted(world);
    await world.stop();
  }
});

Deno.test("first start: an answer that was stored without its ID binds, even where that cannot be stored", async () => {
  const world = createWorld();
  const process = world.start();
  process.killAfter(/rename .*bootstrap\.json/);
  while (!process.isDead()) await world.clock.advanceToNext();
  world.kill();
  world.disk.onCall((call, path) =>
    call === "write" && path.startsWith(IDENTITY_FILE) ? "io" : null
  );
  world.start();
  await world.pass(70_000);
  assert.equal(world.requests("/enroll"), 1);
  assert.equal(world.portal.asked().at(-1), "POST /sync 200");
  await world.stop();
  world.disk.onCall(null);
  world.start();
  await world.pass(36_000);
  await assertStarted(world);
  assert.notEqual(world.stored(BOOTSTRAP_FILE), null);
  await world.stop();
});
