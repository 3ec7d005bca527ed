// needs: root systemd-nspawn mmdebstrap ip k3s versitygw ssh-keygen
// waits
/**
 * What the owner of a cluster has to sign, on a real k3s and a real S3 server, with OpenSSH's own
 * signatures: a restore from the bucket and an account for a person. And a snapshot that was exchanged in
 * the bucket. One node, one story, about 3 minutes.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { inSeconds, makeOwner, type Owner } from "../../cli/demo/owner.ts";
import { createNode } from "../lab/k3s_unit.ts";
import { waitUntil } from "../lab/wait_until.ts";
import { accessOffer, issued } from "../unit/operations/access.ts";
import type { Node } from "./first_start/node.ts";
import { assertRestored, identify, type Identity } from "./operations/assert.ts";
import { startNode } from "./operations/node.ts";
import { offer, watch } from "./operations/operation.ts";
import { type Approval, approve, queue, type Queued, withdraw } from "./operations/owner.ts";
import { lookAt, type Truth, writeMark } from "./operations/truth.ts";

/** What the tests hand on to one another. */
const story: {
  node?: Node;
  owner?: Owner;
  stranger?: Owner;
  identity?: Identity;
  /** A snapshot with the first mark, in the bucket. */
  saved?: { readonly file: string; readonly sha256: string };
  approval?: Approval;
  broken?: string;
} = {};

function theStory() {
  const { node, owner, stranger, identity } = story;
  assert.ok(node && owner && stranger && identity, "the node could not be started");
  return { node, owner, stranger, identity };
}

/** One step of the story. After one that failed, the rest says so at once instead of waiting. */
function chapter(name: string, tell: (told: ReturnType<typeof theStory>) => Promise<void>): void {
  const fn = async () => {
    if (story.broken !== undefined) throw new Error(`not reached: "${story.broken}" failed`);
    story.broken = name;
    await tell(theStory()).catch(async (error: unknown) => {
      const journal = await story.node?.agent.journal().catch(String);
      throw new Error(`${String(error)}\n${(journal ?? "").split("\n").slice(-12).join("\n")}`);
    });
    delete story.broken;
  };
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

Deno.test.beforeAll(async () => {
  const [owner, stranger] = await Promise.all(
    ["ada@example.com", "mallory@example.com"].map((name) => makeOwner(name)),
  );
  Object.assign(story, { owner, stranger });
  const node = await startNode({
    // The first registries would need an approval too.
    desired: { host: { registries: null } },
    config: ({ endpoint, bucket, region, authority }) => {
      const target = { endpoint, bucket, region, folder: "lab", bucket_lookup: "path" };
      return `approval_keys: ${JSON.stringify([owner?.publicKey])}\n` +
        `s3_target: ${JSON.stringify({ ...target, endpoint_ca: authority })}\n`;
    },
  });
  story.node = node;
  story.identity = await identify(node);
});

Deno.test.afterAll(async () => {
  await story.node?.stop();
  await story.owner?.remove();
  await story.stranger?.remove();
});

/** Waits for the condition with these words, and sees to it that nothing was begun. */
async function assertWaits(
  node: Node,
  { code, says, before }: { readonly code: string; readonly says: RegExp; readonly before: Truth },
): Promise<void> {
  await waitUntil(`${code}: ${says}`, async () => {
    const state = JSON.parse(await node.container.readFile("/var/lib/pbx-agent/state.json"));
    // The one before may still have its result to send.
    if (state.operation !== null) {
      assert.notEqual(state.operation.result, undefined, `${state.operation.id} was begun`);
      return undefined;
    }
    const found = (state.conditions as readonly { code: string; message: string }[])
      .find((one) => one.code === code);
    return found !== undefined && says.test(found.message) ? true : undefined;
  }, { timeoutMs: 60_000, everyMs: 250 });
  assert.deepEqual(await lookAt(node), before);
}

/** A restore of the saved snapshot: the node knows the file, so the portal need not name its hash. */
function restore(id: string, params: Record<string, unknown> = {}): Queued {
  const snapshot = story.saved?.file ?? "";
  return { id, kind: "cluster.restore", params: { snapshot, from: "s3", ...params } };
}

chapter("snapshot.save: the node notes the hash of what is in the bucket", async ({ node }) => {
  const { container, s3 } = node;
  const host = (await container.run(["cat", "/proc/sys/kernel/hostname"])).trim();
  await createNode(container, host);
  await writeMark(node, "mark-saved");
  const result = await (await offer(node, "snapshot.save", { name: "nightly" })).result();
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  const { file, sha256, size } = result.output as { file: string; sha256: string; size: number };
  const object = await s3.read(`lab/${file}`);
  assert.ok(object !== undefined);
  assert.match(file, /\.zip$/);
  assert.equal(createHash("sha256").update(object).digest("hex"), sha256);
  const path = "/var/lib/pbx-agent/snapshots.json";
  const { snapshots } = JSON.parse(await container.readFile(path));
  const known = (snapshots as readonly { name: string; size: number; sha256: string }[])
    .find(({ name }) => name === file);
  assert.deepEqual([known?.size, known?.sha256], [size, sha256]);
  assert.equal((await container.run(["stat", "--format=%a", path])).trim(), "600");
  story.saved = { file, sha256 };
});

chapter("a scheduled snapshot: is noted as k3s wrote it", async ({ node }) => {
  const { container, s3 } = node;
  // What k3s's own schedule does, without the wait for it.
  await container.run(["k3s", "etcd-snapshot", "save", "--name=etcd-snapshot"]);
  const known = await waitUntil("snapshots.json to have it", async () => {
    const text = await container.readFile("/var/lib/pbx-agent/snapshots.json");
    return (JSON.parse(text).snapshots as readonly { name: string; sha256: string }[])
      .find(({ name }) => name.startsWith("etcd-snapshot-"));
  }, { timeoutMs: 60_000, everyMs: 500 });
  const object = await s3.read(`lab/${known.name}`);
  assert.ok(object !== undefined);
  assert.equal(createHash("sha256").update(object).digest("hex"), known.sha256);
});

chapter("cluster.restore: without the owner's approval nothing begins", async ({ node }) => {
  await writeMark(node, "mark-later");
  const before = await lookAt(node);
  await queue(node, restore("restore-1"));
  await assertWaits(node, { code: "approval_missing", says: /restore/, before });
});

chapter("cluster.restore: no approval with a fault counts", async ({ node, owner, stranger }) => {
  const before = await lookAt(node);
  const operation = restore("restore-1");
  const other = (text: string) => text.replace(/"snapshot":"[^"]*"/, '"snapshot":"other-1"');
  const away = (text: string) => text.replace(/"bucket":"[^"]*"/, '"bucket":"elsewhere"');
  const soon = inSeconds(3);
  const faults: [RegExp, () => Promise<Approval>][] = [
    [/is not one of approval_keys/, () => approve(node, stranger, operation)],
    [/signed another text/, () => approve(node, owner, operation, { change: other })],
    [/signed another text/, () => approve(node, owner, operation, { change: away })],
    [/is for node/, () => approve(node, owner, operation, { signedFor: "demo-2" })],
    [/expired/, () => approve(node, owner, operation, { expires: soon })],
  ];
  for (const [says, sign] of faults) {
    await queue(node, operation);
    const approval = await sign();
    if (approval.expires === soon) await new Promise((done) => setTimeout(done, 3_000));
    await queue(node, operation, [approval]);
    await assertWaits(node, { code: "approval_invalid", says, before });
    if (approval.expires !== soon) continue;
    await node.portal.admin("PUT", "/admin/clock", { offset_ms: -3_600_000 });
    await waitUntil("the agent to go by the portal's clock", async () => {
      const state = JSON.parse(await node.container.readFile("/var/lib/pbx-agent/state.json"));
      return Math.abs(state.clock_offset_ms + 3_600_000) < 60_000 ? true : undefined;
    }, { timeoutMs: 60_000 });
    // Cycles are a second apart: it is offered again in each of them.
    await new Promise((done) => setTimeout(done, 3_000));
    await assertWaits(node, { code: "approval_invalid", says, before });
    await node.portal.admin("PUT", "/admin/clock", { offset_ms: 0 });
  }
  await withdraw(node, operation.id);
});

chapter("cluster.restore: a snapshot that nobody knows needs its SHA-256", async ({ node }) => {
  const before = await lookAt(node);
  const zip = await node.s3.read(`lab/${story.saved?.file}`);
  assert.ok(zip !== undefined);
  await node.s3.plant("lab/planted.zip", zip);
  await queue(node, restore("restore-0", { snapshot: "planted.zip" }));
  const result = await watch(node, restore("restore-0")).result();
  assert.deepEqual([result.state, result.code], ["refused", "invalid_params"]);
  assert.match(result.message ?? "", /sha256/);
  assert.deepEqual(await lookAt(node), before);
});

chapter("cluster.restore: an exchanged snapshot, approved: k3s is never stopped", async (told) => {
  const { node, owner } = told;
  const before = await lookAt(node);
  const { file = "", sha256 = "" } = story.saved ?? {};
  const zip = await node.s3.read(`lab/${file}`);
  assert.ok(zip !== undefined);
  const changed = zip.slice();
  changed[changed.length >> 1] = (changed[changed.length >> 1] ?? 0) ^ 0x10;
  await node.s3.plant(`lab/${file}`, changed);
  for (const [id, params] of [["restore-2", {}], ["restore-3", { sha256 }]] as const) {
    const operation = restore(id, params);
    await queue(node, operation);
    await queue(node, operation, [await approve(node, owner, operation)]);
    const result = await watch(node, operation).result();
    assert.deepEqual([result.state, result.code], ["failed", "snapshot_changed"], id);
    assert.match(result.message ?? "", /^nothing was stopped or changed: .*has the SHA-256/);
    assert.deepEqual(await lookAt(node), before);
  }
  await node.s3.plant(`lab/${file}`, zip);
});

chapter("cluster.restore: approved with ssh-keygen, the cluster is back", async (told) => {
  const { node, owner, identity } = told;
  const operation = restore("restore-1");
  await queue(node, operation);
  const approval = await approve(node, owner, operation);
  await queue(node, operation, [approval]);
  const result = await watch(node, operation).result();
  await assertRestored(node, result, { identity, marks: ["mark-saved"] });
  story.approval = approval;
});

chapter("cluster.restore: an approval works once", async ({ node }) => {
  assert.ok(story.approval);
  const before = await lookAt(node);
  await queue(node, restore("restore-4"), [story.approval]);
  await assertWaits(node, { code: "approval_invalid", says: /signed another text/, before });
  await withdraw(node, "restore-4");
  // The portal has forgotten that it was ever carried out; the node has not.
  await queue(node, restore("restore-1"), [story.approval]);
  const again = await watch(node, restore("restore-1")).result();
  assert.equal(again.state, "succeeded");
  assert.deepEqual(await lookAt(node), before);
});

chapter("access.issue: cluster-admin only with the owner's approval", async (told) => {
  const { node, owner, stranger } = told;
  const { container } = node;
  const before = await lookAt(node);
  const { params } = accessOffer({ role: "cluster-admin" });
  const operation: Queued = { id: "access-1", kind: "access.issue", params };
  await queue(node, operation);
  await assertWaits(node, { code: "approval_missing", says: /access\.issue/, before });
  await queue(node, operation, [await approve(node, stranger, operation, { signedFor: "*" })]);
  await assertWaits(node, { code: "approval_invalid", says: /approval_keys/, before });
  const viewer = (text: string) => text.replace("cluster-admin", "view");
  await queue(node, operation, [await approve(node, owner, operation, { change: viewer })]);
  await assertWaits(node, { code: "approval_invalid", says: /signed another text/, before });
  await queue(node, operation, [await approve(node, owner, operation, { signedFor: "*" })]);
  const result = await watch(node, operation).result();
  assert.equal(result.state, "succeeded", JSON.stringify(result));
  const kubeconfig = issued(String(result.output?.["sealed_kubeconfig"]));
  await container.writeFile("/root/ada.yaml", kubeconfig, 0o600);
  const as = ["--kubeconfig=/root/ada.yaml", "--server=https://127.0.0.1:6443"];
  const can = ["k3s", "kubectl", ...as, "auth", "can-i", "*", "*"];
  assert.match(await container.run(can), /^yes/);
});
