// needs: root systemd-nspawn mmdebstrap ip k3s versitygw
// waits
/**
 * Snapshots and restores on a real k3s and a real S3 server. One node, one story: what is restored in a
 * test is what the tests before it left. About 7 minutes, 2 of them the grace for Nodes that are gone.
 * PBX_LONG=1 adds the same rules at other points (about 2 minutes more): a reboot in every step, the reset
 * killed when it begins and when it ends.
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createNode, waitForApi } from "../lab/k3s_unit.ts";
import type { Node } from "./first_start/node.ts";
import {
  assertHeld,
  assertRefused,
  assertRestored,
  assertSameAgent,
  identify,
  type Identity,
} from "./operations/assert.ts";
import { rebuildByHand, uninstallHeld } from "./operations/custody.ts";
import { plantLater, saveBesideLater } from "./operations/clock_set_back.ts";
import { renewLease } from "./operations/leases.ts";
import { exhaustDisk, fillDisk, freeDisk, startNode } from "./operations/node.ts";
import { offer, type Operation } from "./operations/operation.ts";
import { killReset, whenBegun, whenCertified, whenMoved } from "./operations/reset.ts";
import {
  DATABASES,
  databasesWith,
  HOLDS,
  lookAt,
  readData,
  writeMark,
} from "./operations/truth.ts";

const PROXY = fileURLToPath(new URL("../lab/container/cutting_proxy_main.ts", import.meta.url));
const isLong = Deno.env.get("PBX_LONG") === "1";

/** What the tests hand on to one another. */
const story: {
  node?: Node;
  identity?: Identity;
  /** File names of snapshots: of the first mark, in the bucket and on the node. */
  zipped: string;
  plain: string;
  broken?: string;
} = { zipped: "", plain: "" };

/** One step of the story. After one that failed, the rest says so at once instead of waiting. */
function chapter(name: string, tell: (node: Node) => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    story.broken = name;
    assert.ok(story.node, "the node could not be started");
    await tell(story.node).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${await lastWords()}`);
    });
    delete story.broken;
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

/** The same, in the long matrix only. */
function longChapter(name: string, tell: (node: Node) => Promise<void>): void {
  if (isLong) chapter(name, tell);
}

async function lastWords(): Promise<string> {
  const journal = await story.node?.agent.journal().catch(String);
  return (journal ?? "").split("\n").slice(-12).join("\n");
}

function identity(): Identity {
  assert.ok(story.identity, "the node has no identity");
  return story.identity;
}

/** Marks that the snapshots hold: the first one, and enough that a snapshot is more than 3 MB. */
const MARKS = ["mark-first", "mark-large-1", "mark-large-2", "mark-large-3", "mark-large-4"];
const LARGE_BYTES = 900_000;

/** Restores the plain local copy: the way out of every failure before it. */
function restoreLocal(node: Node, more: Record<string, unknown> = {}): Promise<Operation> {
  return offer(node, "cluster.restore", { snapshot: story.plain, from: "local", ...more });
}

/** The cluster's own bucket, as parameters that name another one. */
function bucketParams({ s3 }: Node) {
  return {
    from: "s3",
    endpoint: s3.endpoint,
    endpoint_ca: s3.authority,
    bucket: s3.bucket,
    region: s3.region,
    folder: "lab",
    bucket_lookup: "path",
    access_key: { plain: s3.accessKey },
    secret_key: { plain: s3.secretKey },
  };
}

async function assertBack(node: Node, operation: Operation): Promise<void> {
  const result = await operation.result();
  await assertRestored(node, result, { identity: identity(), marks: MARKS });
}

/** Nodes beside the own one: one that is gone, and one whose kubelet the test plays. */
const NODES = { gone: "gone-1", alive: "alive-1" };

async function hostname({ container }: Node): Promise<string> {
  return (await container.run(["cat", "/proc/sys/kernel/hostname"])).trim();
}

Deno.test.beforeAll(async () => {
  story.node = await startNode();
  story.identity = await identify(story.node);
});

Deno.test.afterAll(async () => await story.node?.stop());

chapter("snapshot.save: is in the bucket with the size that is reported", async (node) => {
  const { container, s3 } = node;
  // The lab's k3s has no kubelet: without its own Node it would keep the flag of a reset.
  await createNode(container, await hostname(node));
  for (const mark of MARKS) await writeMark(node, mark, mark === "mark-first" ? 8 : LARGE_BYTES);
  await container.run([
    "k3s",
    "etcd-snapshot",
    "save",
    "--name=plain",
    "--etcd-snapshot-compress=false",
  ]);
  const files = (await container.run(["ls", `${DATABASES}/snapshots`])).split("\n");
  story.plain = files.find((name) => name.startsWith("plain-")) ?? "";
  assert.notEqual(story.plain, "");
  // Only this snapshot knows of other Nodes, which cost a restore two minutes.
  for (const name of Object.values(NODES)) {
    await createNode(container, name);
    await renewLease(node, name);
  }
  const saved = await (await offer(node, "snapshot.save")).result();
  assert.equal(saved.state, "succeeded", JSON.stringify(saved));
  assert.equal(saved.output?.["location"], "s3");
  story.zipped = String(saved.output?.["file"]);
  assert.match(story.zipped, /\.zip$/);
  const object = await s3.read(`lab/${story.zipped}`);
  assert.equal(object?.length, saved.output?.["size"]);
});

chapter("cluster.restore: refuses what can be known before, and stops nothing", async (node) => {
  const { container, s3 } = node;
  await writeMark(node, "mark-later");
  const whole = await s3.read(`lab/${story.plain}`);
  const zip = await s3.read(`lab/${story.zipped}`);
  assert.ok(whole && zip);
  const flipped = whole.slice();
  const at = Math.floor(whole.length / 2) + 5;
  flipped[at] = (flipped[at] ?? 0) ^ 0x10;
  await s3.plant("lab/flipped", flipped);
  await s3.plant("lab/cut.zip", zip.subarray(0, zip.length - 10_000));
  const cut = `${DATABASES}/snapshots/truncated`;
  await container.writeFile(cut, whole.subarray(0, whole.length - 4_096), 0o600);
  const before = await lookAt(node);
  const refuse = async (params: Record<string, unknown>, ...reasons: RegExp[]) => {
    const result = await (await offer(node, "cluster.restore", params)).result();
    await assertRefused(node, result, { before, reasons });
  };
  const token = { plain: "not-the-token-of-this-cluster" };
  await refuse({ snapshot: story.plain, from: "local", token }, /token \(hash [0-9a-f]+\) is not/);
  await refuse({ snapshot: "truncated", from: "local", token }, /no whole snapshot/);
  await refuse({ snapshot: "flipped", from: "s3" }, /no whole snapshot/);
  await refuse({ snapshot: "cut.zip", from: "s3" }, /no whole snapshot/);
  await refuse({ snapshot: "nowhere", from: "s3" }, /no object lab\/nowhere/);
  await fillDisk(node, 200);
  await refuse({ snapshot: story.plain, from: "local" }, /no room on the disk/);
  await freeDisk(node);
  const data = await readData(node);
  assert.deepEqual(data.marks, [...MARKS, "mark-later"].sort());
  await container.run(["rm", cut]);
});

chapter(
  "cluster.restore: from the bucket, compressed; forgets the Node that is gone",
  async (node) => {
    const { container, agent } = node;
    const operation = await offer(node, "cluster.restore", { snapshot: story.zipped, from: "s3" });
    await operation.reaches("forget_stale_nodes");
    await agent.kill();
    await waitForApi(container);
    await renewLease(node, NODES.alive);
    const renewing = setInterval(() => void renewLease(node, NODES.alive).catch(() => {}), 20_000);
    const result = await operation.result().finally(() => clearInterval(renewing));
    await assertRestored(node, result, { identity: identity(), marks: MARKS });
    assert.deepEqual((await readData(node)).nodes, [NODES.alive, await hostname(node)].sort());
    assert.deepEqual(result.output, {
      snapshot: story.zipped,
      size: (await node.s3.read(`lab/${story.zipped}`))?.length,
      forgotten_nodes: [NODES.gone],
    });
    assert.equal((await databasesWith(node, "mark-later")).length, 1);
  },
);

chapter("rebooted after a restore: k3s starts by itself, on the restored cluster", async (node) => {
  await node.container.reboot();
  await waitForApi(node.container);
  assert.deepEqual((await readData(node)).marks, [...MARKS].sort());
  const truth = await lookAt(node);
  assert.ok(!truth.isHeld && !truth.hasSqlite);
  await assertSameAgent(node, identity());
});

/** The steps that may begin again whatever happened. */
const AROUND_THE_RESET = ["stop_k3s", "start_k3s", "wait_api"];

chapter("cluster.restore: the agent killed in every step around the reset", async (node) => {
  await writeMark(node, "mark-second");
  const { oldDatabases } = await lookAt(node);
  const operation = await restoreLocal(node);
  for (const step of AROUND_THE_RESET) {
    await operation.reaches(step);
    await node.agent.kill();
  }
  await assertBack(node, operation);
  assert.equal((await databasesWith(node, "mark-second")).length, 1);
  assert.equal((await lookAt(node)).oldDatabases.length, oldDatabases.length + 1);
});

chapter("snapshot.save: a name used again, with a clock that was set back", async (node) => {
  await saveBesideLater(node, story.zipped);
});

chapter("cluster.restore: two in a row, with a clock that was set back", async (node) => {
  const clear = await plantLater(node);
  for (const mark of ["mark-before-one", "mark-before-two"]) {
    await writeMark(node, mark);
    await assertBack(node, await restoreLocal(node));
  }
  for (const mark of ["mark-before-one", "mark-before-two"]) {
    assert.equal((await databasesWith(node, mark)).length, 1, mark);
  }
  await clear();
});

for (const step of AROUND_THE_RESET) {
  longChapter(`cluster.restore: a reboot in ${step}: goes on`, async (node) => {
    await writeMark(node, `mark-reboot-${step.replaceAll("_", "-")}`);
    const operation = await restoreLocal(node);
    await operation.reaches(step);
    await node.container.reboot();
    await assertBack(node, operation);
  });
}

chapter("cluster.restore: a bucket that is gone: refuses, and stops nothing", async (node) => {
  const before = await lookAt(node);
  const away = { ...bucketParams(node), endpoint: "https://127.0.0.1:9" };
  const operation = await offer(node, "cluster.restore", { snapshot: story.plain, ...away });
  const reasons = [/the bucket cannot be asked for lab\//];
  await assertRefused(node, await operation.result(), { before, reasons });
});

chapter("cluster.restore: the old data can be put back by hand", async (node) => {
  const { container } = node;
  await writeMark(node, "mark-by-hand");
  const before = await lookAt(node);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenMoved(node, before);
  await killReset(node);
  const result = await operation.result();
  await assertHeld(node, result, { mark: "mark-by-hand", says: /SIGKILL/ });
  const old = /the old data is whole in (\S+?);/.exec(result.message ?? "")?.[1] ?? "";
  // k3s may have been killed between the move of the old database and the first file of the new one.
  const aside = "if [ -e etcd ]; then mv etcd etcd-of-the-failed-restore; fi";
  await container.run(["sh", "-c", `cd ${DATABASES} && ${aside} && mv ${old} etcd`]);
  await container.run(["rm", ...HOLDS]);
  await container.run(["systemctl", "daemon-reload"]);
  await container.run(["systemctl", "start", "k3s.service"], { timeoutMs: 120_000 });
  await waitForApi(container);
  assert.deepEqual((await readData(node)).marks, [...MARKS, "mark-by-hand"].sort());
});

chapter("cluster.restore: the agent killed in the reset: says so, starts nothing", async (node) => {
  await writeMark(node, "mark-third");
  const before = await lookAt(node);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenMoved(node, before);
  await node.agent.kill();
  await assertHeld(node, await operation.result(), { mark: "mark-third", says: /cut short/ });
});

chapter("cluster.restore after a failed one: k3s killed in the reset", async (node) => {
  const before = await lookAt(node);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenMoved(node, before);
  await killReset(node);
  await assertHeld(node, await operation.result(), { mark: "mark-third", says: /SIGKILL/ });
});

longChapter("cluster.restore after a failed one: k3s killed as the reset begins", async (node) => {
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenBegun(node);
  await killReset(node);
  await assertHeld(node, await operation.result(), { mark: "mark-third", says: /SIGKILL/ });
});

longChapter("cluster.restore after a failed one: a reboot in the reset", async (node) => {
  const before = await lookAt(node);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenMoved(node, before);
  await node.container.reboot();
  await assertHeld(node, await operation.result(), { mark: "mark-third", says: /cut short/ });
});

chapter("cluster.restore after a failed one: a power cut in the reset", async (node) => {
  const before = await lookAt(node);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await whenMoved(node, before);
  await node.container.powerCut();
  await assertHeld(node, await operation.result(), { mark: "mark-third", says: /cut short/ });
});

/** Enough for the checks, which want 256 MiB to stay free. */
const ENOUGH_MEBIBYTES = 400;

chapter("cluster.restore after a failed one: the disk full in the reset", async (node) => {
  await fillDisk(node, ENOUGH_MEBIBYTES);
  const operation = await restoreLocal(node);
  await operation.reaches("reset_restore");
  await exhaustDisk(node);
  const result = await operation.result();
  await freeDisk(node);
  await assertHeld(node, result, { mark: "mark-third", says: /the disk is full/ });
});

chapter("cluster.restore after failed ones: over connections cut every 1 MB", async (node) => {
  const { container, s3 } = node;
  const args = ["run", "--allow-net", "--no-config", PROXY, new URL(s3.endpoint).port, "1000000"];
  const proxy = container.runInNetwork(Deno.execPath(), args);
  const { port } = JSON.parse(await proxy.waitForLine((line) => line.startsWith("{")));
  const operation = await offer(node, "cluster.restore", {
    ...bucketParams(node),
    snapshot: story.plain,
    endpoint: `https://127.0.0.1:${port}`,
  });
  await assertBack(node, operation);
  const connections = proxy.stdout.length - 1;
  assert.ok(connections >= 4, `${connections} connections carried more than 3 MB`);
  await proxy.stop();
  // The first of the failed restores moved the cluster's last data aside, and it is there still.
  assert.equal((await databasesWith(node, "mark-third")).length, 1);
});

longChapter(
  "cluster.restore: k3s killed at the end of the reset: the verdict is true",
  async (node) => {
    await writeMark(node, "mark-fourth");
    const operation = await restoreLocal(node);
    await operation.reaches("reset_restore");
    await whenCertified(node);
    await killReset(node);
    const result = await operation.result();
    // The kill may come too late: then the reset had succeeded.
    if (result.state === "succeeded") return await assertBack(node, operation);
    await assertHeld(node, result, { mark: "mark-fourth", says: /SIGKILL/ });
    await assertBack(node, await restoreLocal(node));
  },
);

chapter("another cluster on the node: nothing is written into it", async (node) => {
  await rebuildByHand(node, await hostname(node));
});

chapter(
  "uninstall: while k3s is held it refuses, or leaves it held through boots",
  async (node) => {
    const before = await lookAt(node);
    const operation = await restoreLocal(node);
    await operation.reaches("reset_restore");
    await whenMoved(node, before);
    await killReset(node);
    assert.equal((await operation.result()).state, "failed");
    await uninstallHeld(node);
  },
);
