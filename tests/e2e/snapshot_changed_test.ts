import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { FAKE_K3S_SNAPSHOT } from "../../adapters/fake/k3s_script.ts";
import { inWorld, type World } from "./world.ts";

const FOLDER = "/var/lib/rancher/k3s/server/db/snapshots";
const RECORD = "/var/lib/pbx-agent/snapshots.json";

/** Queues an operation and waits for its result at the portal. */
async function carryOut(world: World, id: string, kind: string, params = {}) {
  await world.admin("POST", "/clusters/demo/operations", { id, kind, params });
  return await world.until(
    `the result of ${id}`,
    () => world.running.portal.state.operations.find((one) => one.id === id)?.result ?? null,
  );
}

async function hashOf({ root }: World, path: string): Promise<string> {
  return createHash("sha256").update(await Deno.readFile(root + path)).digest("hex");
}

/** The hashes in snapshots.json, by file name. */
async function noted({ root }: World): Promise<Record<string, string>> {
  const text = await Deno.readTextFile(root + RECORD).catch(() => '{"snapshots":[]}');
  const { snapshots } = JSON.parse(text) as { snapshots: { name: string; sha256: string }[] };
  return Object.fromEntries(snapshots.map(({ name, sha256 }) => [name, sha256]));
}

Deno.test("snapshots: what k3s wrote is noted, and a restore refuses another file while k3s runs", async () => {
  await inWorld(async (world) => {
    const agent = await world.startSynced();
    const [node = { nodeName: "" }] = world.agents();
    await world.admin("PATCH", "/clusters/demo/desired", { secrets: { etcd_s3: null } });
    await world.until("the desired state without a bucket", async () => {
      const { desired } = await world.state() as unknown as {
        desired: { state: { secrets: Record<string, unknown> } } | null;
      };
      return desired !== null && !("etcd_s3" in desired.state.secrets) ? true : null;
    });

    const saved = await carryOut(world, "save-1", "snapshot.save");
    assert.equal(saved.state, "succeeded", JSON.stringify(saved));
    const file = String(saved.output?.["file"]);
    const sha256 = await hashOf(world, `${FOLDER}/${file}`);
    assert.equal(saved.output?.["sha256"], sha256);
    assert.deepEqual(await noted(world), { [file]: sha256 });
    const { mode } = await Deno.stat(world.root + RECORD);
    assert.equal((mode ?? 0) & 0o777, 0o600);

    const scheduled = `etcd-snapshot-${node.nodeName}-1767268800`;
    await Deno.copyFile(world.root + FAKE_K3S_SNAPSHOT, `${world.root}${FOLDER}/${scheduled}`);
    await world.until(
      "the scheduled snapshot in snapshots.json",
      async () => (await noted(world))[scheduled] ?? null,
    );

    const bytes = await Deno.readFile(`${world.root}${FOLDER}/${file}`);
    const middle = bytes.length >> 1;
    bytes[middle] = (bytes[middle] ?? 0) ^ 1;
    await Deno.writeFile(`${world.root}${FOLDER}/${file}`, bytes);
    for (const more of [{}, { sha256 }]) {
      const id = `restore-${Object.keys(more).length}`;
      const params = { snapshot: file, from: "local", ...more };
      const refused = await carryOut(world, id, "cluster.restore", params);
      assert.deepEqual([refused.state, refused.code], ["failed", "snapshot_changed"]);
    }
    assert.equal((await noted(world))[file], sha256, "it keeps its first hash");
    const stops = (await world.node.systemctlCalls()).filter((call) => call.startsWith("stop"));
    assert.deepEqual(stops, []);

    const params = { snapshot: scheduled, from: "local" };
    const restored = await carryOut(world, "restore-good", "cluster.restore", params);
    assert.equal(restored.state, "succeeded", JSON.stringify(restored));
    await agent.stop();
  });
});
