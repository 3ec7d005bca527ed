import assert from "node:assert/strict";
import {
  BOOTSTRAP_FILE,
  CONFIG_FILE,
  IDENTITY_FILE,
  K3S_CONFIG_FILE,
  STATE_ASIDE_FILE,
  STATE_FILE,
} from "../../../core/state/paths.ts";
import { assertStarted } from "./started.ts";
import { configYaml, createSettledWorld, createWorld, type World } from "./world.ts";

const DAY_MS = 24 * 3_600_000;

async function restartAfter(world: World, change: () => unknown): Promise<void> {
  await world.stop();
  await change();
  world.start();
  await world.pass(70_000);
}

Deno.test("already_bound: a configuration for another node is reported, and nothing is rebound", async () => {
  const others = [
    configYaml("pbx_new").replace("demo-1", "demo-2"),
    configYaml("pbx_new").replace("cluster_id: demo", "cluster_id: other"),
    configYaml("pbx_new").replace("demo-1", "demo-2").replace("example.com", "example.org"),
  ];
  for (const other of others) {
    const world = await createSettledWorld();
    const identity = world.disk.text(IDENTITY_FILE);
    await restartAfter(world, () => world.disk.put(CONFIG_FILE, other));
    assert.deepEqual(world.conditions(), ["already_bound"]);
    assert.equal(world.lastReport().node.name, "demo-1");
    // By the portal that enrolled it, and the token of somebody else stays where it is.
    assert.equal(world.portal.asked().at(-1), "POST /sync 200");
    assert.equal(world.disk.text(CONFIG_FILE), other);
    assert.equal(world.disk.text(IDENTITY_FILE), identity);
    assert.equal(world.requests("/enroll"), 1);
    await restartAfter(world, () => world.disk.put(CONFIG_FILE, configYaml("pbx_new")));
    assert.deepEqual(world.conditions(), []);
    assert.doesNotMatch(world.disk.text(CONFIG_FILE) ?? "", /pbx_new/);
    await world.stop();
  }
});

Deno.test("state lost: kept aside, told until the next desired state is applied and reported", async () => {
  for (const how of ["garbage", "", "gone"]) {
    const world = await createSettledWorld();
    await world.stop();
    if (how === "gone") await world.disk.remove(STATE_FILE);
    else world.disk.put(STATE_FILE, how);
    world.portal.down = true;
    world.start();
    await world.pass(70_000);
    const { conditions } = await world.status();
    assert.deepEqual(conditions.map(({ code }) => code), ["state_lost"], how);
    assert.equal(world.disk.text(STATE_ASIDE_FILE), how === "gone" ? null : how);
    world.portal.down = false;
    const before = world.reports().length;
    await world.pass(120_000);
    const told = world.reports().slice(before).filter(({ conditions }) =>
      conditions.some(({ code }) => code === "state_lost")
    );
    // In the report that has no desired state yet, and in the one that reports it as applied.
    assert.ok(told.some(({ desired }) => desired.revision === null), how);
    assert.ok(told.some(({ desired }) => desired.revision === 1), how);
    // With which drop-ins k3s runs is not known any more.
    assert.deepEqual(world.conditions(), ["k3s_restart_pending"], how);
    assert.equal(world.stored().first_start, "done");
    await world.stop();
  }
});

Deno.test("state lost: k3s is not configured again, and its drop-ins count as changed", async () => {
  const world = await createSettledWorld();
  const config = `${world.disk.text(K3S_CONFIG_FILE)}# by hand\n`;
  await restartAfter(world, () => {
    world.disk.put(K3S_CONFIG_FILE, config);
    world.disk.put(STATE_FILE, "garbage");
  });
  assert.equal(world.disk.text(K3S_CONFIG_FILE), config);
  assert.equal(world.lastReport().pending.k3s_restart, true);
  await world.stop();
});

Deno.test("state lost: before the enrollment there is nothing to tell", async () => {
  const world = createWorld();
  world.portal.down = true;
  world.start();
  await world.pass(10_000);
  await restartAfter(world, () => {
    world.disk.put(STATE_FILE, "garbage");
    world.portal.down = false;
  });
  await assertStarted(world);
  await world.stop();
});

Deno.test("identity: unreadable or gone with no good copy means idle, never fresh keys", async () => {
  for (const how of ["garbage", "", "gone"]) {
    const world = await createSettledWorld();
    const good = world.disk.text(IDENTITY_FILE) ?? "";
    const requests = world.portal.asked().length;
    await restartAfter(world, async () => {
      if (how === "gone") await world.disk.remove(IDENTITY_FILE);
      else world.disk.put(IDENTITY_FILE, how);
    });
    await world.pass(DAY_MS);
    assert.equal(world.portal.asked().length, requests);
    assert.equal(world.disk.text(IDENTITY_FILE), how === "gone" ? null : how);
    const status = await world.status();
    assert.equal(status.stage, "identity_unreadable");
    assert.deepEqual(status.conditions.map(({ code }) => code), ["identity_unreadable"]);

    // Put back from a backup, it goes on, and the portal is not told of what only status shows.
    await restartAfter(world, () => world.disk.put(IDENTITY_FILE, good));
    assert.equal((await world.status()).stage, "syncing");
    assert.deepEqual(world.conditions(), []);
    assert.deepEqual(world.portal.asked().slice(requests).filter((one) => !/ 200$/.test(one)), []);
    await world.stop();
  }
});

Deno.test("identity: a whole temporary copy beside an unreadable file is taken", async () => {
  const world = await createSettledWorld();
  await restartAfter(world, () => {
    world.disk.put(`${IDENTITY_FILE}.tmp`, world.disk.text(IDENTITY_FILE) ?? "");
    world.disk.truncate(IDENTITY_FILE);
  });
  assert.equal(world.portal.asked().at(-1), "POST /sync 200");
  assert.notEqual(world.stored(IDENTITY_FILE).binding, null);
  await world.stop();
});

Deno.test("bootstrap lost: before k3s is configured the node waits and syncs, after it nothing is missed", async () => {
  const world = createWorld();
  const process = world.start();
  process.killAfter(/rename .*config\.yaml\.tmp/);
  while (!process.isDead()) await world.clock.advanceToNext();
  world.disk.truncate(BOOTSTRAP_FILE);
  world.kill();
  world.start();
  await world.pass(120_000);
  assert.equal(world.portal.asked().at(-1), "POST /sync 200");
  assert.deepEqual(world.systemd.calls, []);
  assert.match(world.log.text(), /bootstrap\.json is lost/);
  await world.stop();

  const settled = await createSettledWorld();
  await restartAfter(settled, () => settled.disk.truncate(BOOTSTRAP_FILE));
  assert.deepEqual(settled.conditions(), []);
  await settled.stop();
});

Deno.test("newer formats: the agent does not start on them and changes nothing", async () => {
  for (const path of [IDENTITY_FILE, BOOTSTRAP_FILE, STATE_FILE]) {
    const world = await createSettledWorld();
    await world.stop();
    world.disk.put(path, '{"format": 2}');
    world.disk.forgetWrites();
    world.start();
    await world.pass(1_000);
    const end = world.ended();
    assert.equal(end?.kind, "unusable");
    assert.match(end?.kind === "unusable" ? end.message : "", /format 2, written by a newer/);
    assert.deepEqual(world.disk.writes(), []);
    assert.equal(world.disk.text(path), '{"format": 2}');
    assert.match((await world.status()).problems.join(), /format 2/);
  }
});

Deno.test("unreadable disk: the agent does not start", async () => {
  for (const path of [IDENTITY_FILE, BOOTSTRAP_FILE, STATE_FILE]) {
    const world = await createSettledWorld();
    await world.stop();
    world.disk.failNext("io", { operation: "read", path });
    world.start();
    await world.pass(1_000);
    assert.equal(world.ended()?.kind, "unusable", path);
  }
});

Deno.test("truncation: whatever document is emptied at whatever moment, there are no fresh keys", async () => {
  const probe = createWorld();
  const { changes } = probe.start();
  await probe.pass(40_000);
  await probe.stop();
  const documents = [IDENTITY_FILE, BOOTSTRAP_FILE, STATE_FILE];
  for (const [index, change] of changes.entries()) {
    const document = documents.find((path) => change.includes(path));
    if (document === undefined || !/^disk\.(?:write|rename)/.test(change)) continue;
    const world = createWorld();
    const process = world.start();
    process.killAt(index + 1, "after");
    while (!process.isDead()) await world.clock.advanceToNext();
    const keys = world.stored(IDENTITY_FILE)?.keys.signing;
    const copy = world.disk.text(`${document}.tmp`) !== null;
    if (world.disk.text(document) !== null) world.disk.truncate(document);
    world.kill();
    world.start();
    await world.pass(70_000);
    const shown = `${change} (number ${index + 1})`;
    assert.ok(world.portal.portal.state.agents.size <= 1, shown);
    if (document === IDENTITY_FILE && !copy) {
      assert.equal((await world.status()).stage, "identity_unreadable", shown);
      assert.equal(world.disk.text(IDENTITY_FILE), "", shown);
    } else {
      assert.equal(world.portal.asked().at(-1), "POST /sync 200", shown);
      const { signing } = world.stored(IDENTITY_FILE).keys;
      assert.equal(signing, keys ?? signing, shown);
    }
    await world.stop();
  }
});
