import assert from "node:assert/strict";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { snapshotBytes, zipBytes } from "../../../adapters/fake/snapshot_bytes.ts";
import { SNAPSHOTS_FILE } from "../../../core/state/paths.ts";
import { createSettledWorld, type World } from "./world.ts";

const FOLDER = "/var/lib/rancher/k3s/server/db/snapshots";
const FILE = "etcd-snapshot-demo-1-1767270000";
const hex = (bytes: Uint8Array) => bytesToHex(sha256(bytes));

/** What k3s tells of a snapshot on the node. */
function tell({ k8s }: World, file: string, size: number): void {
  k8s.write(`/apis/k3s.cattle.io/v1/etcdsnapshotfiles/local-${file}`, {
    apiVersion: "k3s.cattle.io/v1",
    kind: "ETCDSnapshotFile",
    metadata: { name: `local-${file}` },
    spec: { snapshotName: file, nodeName: "demo-1" },
    status: { size: String(size), readyToUse: true },
  }, "k3s");
}

function noted(world: World): Record<string, string> {
  const { snapshots = [] } = world.stored(SNAPSHOTS_FILE) ?? {};
  return Object.fromEntries(
    snapshots.map(({ name, sha256 }: { name: string; sha256: string }) => [name, sha256]),
  );
}

function uidOf({ k8s }: World): string {
  const { metadata } = k8s.read("/api/v1/namespaces/kube-system") as { metadata: { uid: string } };
  return metadata.uid;
}

Deno.test("snapshots.json: a scheduled snapshot that k3s vouches for is noted within two minutes", async () => {
  const world = await createSettledWorld();
  const bytes = new Uint8Array(1_000).fill(7);
  world.disk.put(`${FOLDER}/${FILE}.zip`, bytes);
  world.disk.put(`${FOLDER}/etcd-snapshot-demo-2-1767270000`, bytes);
  tell(world, `${FILE}.zip`, bytes.length);
  tell(world, "etcd-snapshot-demo-2-1767270000", bytes.length);
  await world.pass(120_000);
  assert.deepEqual(noted(world), { [`${FILE}.zip`]: hex(bytes) });
  const text = world.disk.text(SNAPSHOTS_FILE);

  // Changed later, it keeps what it was; and nothing is written for it.
  await world.pass(60_000);
  world.disk.put(`${FOLDER}/${FILE}.zip`, new Uint8Array(1_000).fill(8));
  await world.pass(600_000);
  assert.equal(world.disk.text(SNAPSHOTS_FILE), text);
  await world.stop();
});

Deno.test("snapshots.json: without k3s's word a file has to be a whole snapshot of this cluster", async () => {
  const world = await createSettledWorld();
  const own = snapshotBytes({ texts: [uidOf(world)] });
  const zip = zipBytes([{ name: FILE, bytes: own }]);
  world.disk.put(`${FOLDER}/${FILE}`, own);
  world.disk.put(`${FOLDER}/${FILE}.zip`, zip);
  world.disk.put(`${FOLDER}/other-demo-1-1767270001`, snapshotBytes({ texts: ["f".repeat(36)] }));
  world.disk.put(`${FOLDER}/cut-demo-1-1767270002`, own.slice(0, -100));
  await world.pass(180_000);
  assert.deepEqual(noted(world), { [FILE]: hex(own), [`${FILE}.zip`]: hex(zip) });
  await world.stop();
});

Deno.test("snapshots.json: while the API is down nothing is noted, and an idle agent writes nothing", async () => {
  const world = await createSettledWorld();
  world.k8s.breakWith({ kind: "down" });
  const bytes = snapshotBytes({ texts: [uidOf(world)] });
  world.disk.put(`${FOLDER}/${FILE}`, bytes);
  tell(world, FILE, bytes.length);
  await world.pass(300_000);
  assert.equal(world.disk.text(SNAPSHOTS_FILE), null);
  world.k8s.breakWith(null);
  await world.pass(600_000);
  assert.deepEqual(Object.keys(noted(world)), [FILE]);
  await world.stop();
});

Deno.test("snapshots.json: nothing is believed of another cluster's API", async () => {
  const world = await createSettledWorld();
  world.k8s.showCluster(1);
  world.k8s.installK3sDefinitions();
  const bytes = snapshotBytes({ texts: [uidOf(world)] });
  world.disk.put(`${FOLDER}/${FILE}`, bytes);
  tell(world, FILE, bytes.length);
  await world.pass(300_000);
  assert.equal(world.disk.text(SNAPSHOTS_FILE), null);
  await world.stop();
});

Deno.test("snapshots.json: with many snapshots at once all are noted, some at a time", async () => {
  const world = await createSettledWorld();
  for (let index = 0; index < 25; index++) {
    const file = `etcd-snapshot-demo-1-${1_767_270_000 + index}`;
    world.disk.put(`${FOLDER}/${file}`, new Uint8Array(10).fill(index));
    tell(world, file, 10);
  }
  await world.pass(300_000);
  assert.equal(Object.keys(noted(world)).length, 25);
  await world.stop();
});

Deno.test("snapshots.json: a file that takes long to read holds up no report", async () => {
  const world = await createSettledWorld();
  await world.stop();
  let reads = 0;
  world.start((ports) => ({
    ...ports,
    disk: {
      ...ports.disk,
      async sha256(path) {
        reads += 1;
        await ports.clock.sleep(900_000);
        return await ports.disk.sha256(path);
      },
    },
  }));
  await world.pass(60_000);
  const bytes = new Uint8Array(10);
  world.disk.put(`${FOLDER}/${FILE}`, bytes);
  tell(world, FILE, bytes.length);
  const before = world.requests("/sync");
  await world.pass(600_000);
  assert.equal(reads, 1);
  assert.ok(world.requests("/sync") - before >= 17, String(world.requests("/sync") - before));
  await world.pass(600_000);
  assert.deepEqual(noted(world), { [FILE]: hex(bytes) });
  await world.stop();
});
