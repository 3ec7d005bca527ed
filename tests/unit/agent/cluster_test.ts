import assert from "node:assert/strict";
import { plainSecrets, secretData } from "./started.ts";
import { createSettledWorld, type World } from "./world.ts";

const PLACE = { namespace: "kube-system", name: "hcloud" };
const HCLOUD = "/api/v1/namespaces/kube-system/secrets/hcloud";

function secret(data: Record<string, string>) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: PLACE,
    type: "Opaque",
    data,
  };
}

function applies({ k8s }: World): number {
  return k8s.requests().filter(({ method }) => method === "PATCH").length;
}

Deno.test("cluster: an idle cycle writes nothing, neither to the disk nor to the API", async () => {
  const world = await createSettledWorld();
  await world.pass(60_000);
  world.disk.forgetWrites();
  world.k8s.forgetRequests();
  await world.pass(8 * 60_000);
  assert.deepEqual(world.disk.writes(), []);
  assert.equal(world.k8s.writes(), 0);
  await world.stop();
});

Deno.test("cluster: the Secrets are applied again every 10 minutes", async () => {
  const world = await createSettledWorld();
  world.k8s.forgetRequests();
  await world.pass(30 * 60_000);
  assert.ok(applies(world) >= 2 * 2 && applies(world) <= 2 * 3, `${applies(world)}`);
  await world.stop();
});

Deno.test("cluster: a start of the agent is no reason to write what does not differ", async () => {
  const world = await createSettledWorld();
  world.kill();
  world.k8s.forgetRequests();
  world.start();
  await world.pass(5 * 60_000);
  assert.equal(world.k8s.writes(), 0);
  await world.pass(6 * 60_000);
  assert.equal(world.k8s.writes(), 2, "the 10 minutes are over");
  await world.stop();
});

Deno.test("cluster: what was changed by hand is put right in the next cycle", async () => {
  const world = await createSettledWorld();
  const { hcloud } = plainSecrets(world);
  const good = secretData(world, "hcloud");
  const changes: (() => unknown)[] = [
    () => world.k8s.write(HCLOUD, secret({ token: btoa("other") }), "kubectl"),
    () => world.k8s.write(HCLOUD, secret({ more: btoa("x") }), "kubectl"),
    () => world.k8s.remove({ apiVersion: "v1", resource: "secrets", ...PLACE }),
  ];
  for (const change of changes) {
    await change();
    await world.pass(36_000);
    assert.deepEqual(secretData(world, "hcloud"), good);
    const before = applies(world);
    await world.pass(70_000);
    assert.equal(applies(world), before);
  }
  assert.equal(good["token"], hcloud);
  await world.stop();
});

Deno.test("cluster: a new token reaches its Secret with the desired state that brings it", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ secrets: { hcloud: { token: { plain: "the-new-token" } } } });
  await world.pass(36_000);
  assert.equal(secretData(world, "hcloud")["token"], "the-new-token");
  await world.stop();
});

Deno.test("cluster: Secrets that are no longer wanted are never deleted", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ secrets: { hcloud: null, etcd_s3: null } });
  await world.pass(70_000);
  assert.equal(world.lastReport().desired.revision, 2);
  assert.notEqual(secretData(world, "hcloud")["token"], undefined);
  assert.notEqual(secretData(world, "pbx-etcd-s3")["etcd-s3-bucket"], undefined);
  await world.stop();
});

Deno.test("cluster: while the API is down nothing is tried, and api_down says so until it is back", async () => {
  for (
    const fault of [{ kind: "down" }, { kind: "hang" }, { kind: "status", status: 500 }] as const
  ) {
    const world = await createSettledWorld();
    world.k8s.breakWith(fault);
    world.k8s.forgetRequests();
    await world.pass(120_000);
    assert.deepEqual(world.conditions(), ["api_down"]);
    const { node } = world.lastReport();
    assert.deepEqual([node.api, node.ready, node.leader], ["down", null, false]);
    assert.equal(applies(world), 0);
    world.k8s.breakWith(null);
    await world.pass(120_000);
    assert.deepEqual(world.conditions(), []);
    await world.stop();
  }
});

Deno.test("cluster: what the API refuses is tried again in later cycles", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ secrets: { hcloud: { token: { plain: "the-new-token" } } } });
  world.k8s.breakWith({ kind: "status", status: 403, reason: "Forbidden" });
  // /readyz answers 403 too, so the API counts as down; then only its writes fail.
  await world.pass(40_000);
  world.k8s.breakWith(null);
  await world.pass(40_000);
  assert.equal(secretData(world, "hcloud")["token"], "the-new-token");
  await world.stop();
});

Deno.test("cluster: of several servers the holder of the lease writes, no other", async () => {
  const world = await createSettledWorld();
  const lease = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";
  world.portal.desire({ servers: 3 });
  await world.pass(70_000);
  assert.equal(world.lastReport().node.leader, true);
  const held = world.k8s.read(lease);
  assert.equal((held?.["spec"] as { readonly holderIdentity: string }).holderIdentity, "demo-1");

  // Another node has it now and renews it.
  for (let i = 0; i < 8; i++) {
    const spec = { holderIdentity: "demo-2", leaseTransitions: i };
    const metadata = { name: "pbx-agent-leader", namespace: "pbx-system" };
    world.k8s.write(
      lease,
      { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec },
      "pbx-agent",
    );
    if (i === 1) {
      world.portal.desire({ secrets: { hcloud: { token: { plain: "the-new-token" } } } });
    }
    await world.pass(15_000);
  }
  assert.equal(world.lastReport().node.leader, false);
  assert.notEqual(secretData(world, "hcloud")["token"], "the-new-token");

  // It is gone: after a lease's length this node takes over.
  await world.pass(150_000);
  assert.equal(world.lastReport().node.leader, true);
  assert.equal(secretData(world, "hcloud")["token"], "the-new-token");
  await world.stop();
});

Deno.test("cluster: another agent version than the wanted one is told, until they are the same", async () => {
  const world = await createSettledWorld();
  world.portal.desire({ agent: { version: "0.2.0" } });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), ["update_failed"]);
  world.portal.desire({ agent: { version: "0.1.0" } });
  await world.pass(70_000);
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("cluster: the node's Ready condition is reported, and k3s's version follows its file", async () => {
  const world = await createSettledWorld();
  assert.equal(world.lastReport().node.ready, true);
  world.k8s.setNode("demo-1", false);
  await world.pass(36_000);
  assert.equal(world.lastReport().node.ready, false);
  assert.equal(world.lastReport().node.k3s.version, "v1.36.3+k3s1");
  await world.disk.remove("/usr/local/bin/k3s");
  await world.pass(36_000);
  assert.equal(world.lastReport().node.k3s.version, null);
  await world.stop();
});
