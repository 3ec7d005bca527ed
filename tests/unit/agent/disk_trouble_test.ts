import assert from "node:assert/strict";
import { IDENTITY_FILE, STATE_FILE } from "../../../core/state/paths.ts";
import { assertStarted, secretData } from "./started.ts";
import { createSettledWorld, createWorld, type World } from "./world.ts";

const SNAPSHOTS = "/etc/rancher/k3s/config.yaml.d/50-pbx-snapshots.yaml";

/** Ways in which nothing can be written, and how each ends. */
const TROUBLES: readonly [string, (world: World) => void, (world: World) => void][] = [
  ["read-only", ({ disk }) => disk.setReadOnly(true), ({ disk }) => disk.setReadOnly(false)],
  ["full", ({ disk }) => disk.setCapacity(0), ({ disk }) => disk.setCapacity(1e9)],
];

Deno.test("disk trouble: told as disk_full while it lasts; the old content stays readable", async () => {
  for (const [name, begin, end] of TROUBLES) {
    const world = await createSettledWorld();
    const files = [IDENTITY_FILE, STATE_FILE, SNAPSHOTS].map((path) => world.disk.text(path));
    begin(world);
    world.portal.desire({ host: { snapshots: { retention: 7 } } });
    await world.pass(120_000);
    assert.deepEqual(world.conditions(), ["disk_full"], name);
    // What cannot be stored is not applied.
    assert.equal(world.lastReport().desired.revision, 1, name);
    assert.deepEqual(
      [IDENTITY_FILE, STATE_FILE, SNAPSHOTS].map((path) => world.disk.text(path)),
      files,
      name,
    );
    end(world);
    await world.pass(120_000);
    assert.deepEqual(world.conditions(), ["k3s_restart_pending"], name);
    assert.equal(world.lastReport().desired.revision, 2, name);
    assert.match(world.disk.text(SNAPSHOTS) ?? "", /retention: 7/);
    await world.stop();
  }
});

Deno.test("disk trouble: during a first start it is waited for, at every write", async () => {
  const probe = createWorld();
  const { changes } = probe.start();
  await probe.pass(40_000);
  await probe.stop();
  const writes = changes.filter((change) => change.startsWith("disk.write")).length;
  for (const [name, begin, end] of TROUBLES) {
    for (let number = 1; number <= writes; number++) {
      const world = createWorld();
      let count = 0;
      world.disk.onCall((operation) => {
        if (operation === "write" && ++count === number) begin(world);
        return null;
      });
      world.start();
      await world.pass(20_000);
      world.disk.onCall(null);
      assert.equal(world.portal.portal.state.agents.size <= 1, true, `${name} ${number}`);
      end(world);
      // The longest backoff that such a start can have come to.
      await world.pass(110_000);
      try {
        // k3s may have started before the drop-ins could be written.
        await assertStarted(world, "k3s_restart_pending");
      } catch (cause) {
        throw new Error(`${name} from write ${number} on`, { cause });
      }
      await world.stop();
    }
  }
});

Deno.test("disk trouble: conditions and backoff count in memory while nothing can be written", async () => {
  const world = await createSettledWorld();
  world.disk.setReadOnly(true);
  world.portal.desire({ servers: 0 });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["disk_full", "invalid_desired_state"]);
  world.portal.down = true;
  const before = world.requests("/sync");
  await world.pass(300_000);
  assert.ok(world.requests("/sync") - before <= 9, "it backs off");
  world.disk.setReadOnly(false);
  world.portal.down = false;
  world.portal.desire({ servers: 1 });
  await world.pass(500_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("disk trouble: a write that is wanted no more does not keep the condition up", async () => {
  const world = await createSettledWorld();
  world.disk.onCall((operation, path) =>
    operation === "write" && path.startsWith("/etc/rancher") ? "full" : null
  );
  world.portal.desire({ host: { snapshots: { retention: 7 } } });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["disk_full"]);
  world.portal.desire({ host: { snapshots: { retention: 28 } } });
  await world.pass(240_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("disk trouble: the cluster is kept up all the same", async () => {
  const world = await createSettledWorld();
  const good = secretData(world, "hcloud");
  world.disk.setReadOnly(true);
  await world.k8s.remove({
    apiVersion: "v1",
    resource: "secrets",
    namespace: "kube-system",
    name: "hcloud",
  });
  await world.pass(36_000);
  assert.deepEqual(secretData(world, "hcloud"), good);
  await world.stop();
});
