import assert from "node:assert/strict";
import type { JsonObject } from "../../../core/json.ts";
import { K3S_CONFIG_FILE } from "../../../core/state/paths.ts";
import { createWorld, type World } from "../agent/world.ts";

const FIRST = "https://10.0.0.1:6443";
const HCLOUD = "/api/v1/namespaces/kube-system/secrets/hcloud";

/** A further server: the answer to its enrollment names the server that k3s joins. */
function furtherServer(): World {
  const world = createWorld();
  const k3s = world.portal.cluster.bootstrap["k3s"] as JsonObject;
  const { "cluster-init": _first, ...config } = k3s["config"] as JsonObject;
  Object.assign(world.portal.cluster.bootstrap, {
    k3s: { ...k3s, config: { ...config, server: FIRST } },
  });
  world.portal.desire({ servers: 3 });
  return world;
}

/** Somebody else leads, and goes on renewing. */
function anotherLeads(world: World): void {
  const metadata = { name: "pbx-agent-leader", namespace: "pbx-system" };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "pbx-system" } };
  world.k8s.write("/api/v1/namespaces/pbx-system", namespace, "demo-2");
  const renew = async () => {
    for (let times = 0; times < 50; times++) {
      const renewTime = new Date(world.clock.now()).toISOString().replace("Z", "000Z");
      world.k8s.write(
        "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader",
        {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata,
          spec: { holderIdentity: "demo-2", renewTime },
        },
        "demo-2",
      );
      await world.clock.sleep(15_000);
    }
  };
  void renew();
}

Deno.test("joining: a server that comes before the first one waits, and says for whom", async () => {
  const world = furtherServer();
  world.k8s.setReady(false);
  anotherLeads(world);
  world.start();
  await world.pass(300_000);
  assert.match(world.disk.text(K3S_CONFIG_FILE) ?? "", /^server: "https:\/\/10\.0\.0\.1:6443"$/m);
  assert.equal(world.stored().first_start, "wait_api");
  const said = world.log.text().split("\n").filter((line) => line.includes("this server joins"));
  assert.ok(said.length >= 4 && said.length <= 6, `said ${said.length} times in five minutes`);
  assert.match(said[0] ?? "", /this server joins https:\/\/10\.0\.0\.1:6443: until that one is up/);
  assert.deepEqual(world.conditions(), ["api_down"]);
  assert.equal(world.lastReport().node.leader, false);
  world.k8s.setReady(true);
  await world.pass(60_000);
  assert.equal(world.stored().first_start, "done");
  assert.deepEqual(world.conditions(), []);
  await world.stop();
});

Deno.test("joining: the Secrets of a cluster that there is are not written over", async () => {
  const world = furtherServer();
  anotherLeads(world);
  const data = { token: btoa("a younger token") };
  const metadata = { name: "hcloud", namespace: "kube-system" };
  world.k8s.write(HCLOUD, { apiVersion: "v1", kind: "Secret", metadata, data }, "pbx-agent");
  world.k8s.forgetRequests();
  world.start();
  await world.pass(120_000);
  assert.equal(world.stored().first_start, "done");
  assert.deepEqual(world.k8s.read(HCLOUD)?.["data"], data);
  const written = world.k8s.requests().filter(({ method, path }) =>
    method !== "GET" && path.includes("/secrets/")
  );
  // What is not there yet is needed for snapshots: it is the only thing that is made.
  assert.deepEqual(written.map(({ path }) => path), [
    "/api/v1/namespaces/kube-system/secrets/pbx-etcd-s3",
  ]);
  await world.stop();
});

Deno.test("joining: a server that leads nothing leads once the leader is gone", async () => {
  const world = furtherServer();
  const lease = "/apis/coordination.k8s.io/v1/namespaces/pbx-system/leases/pbx-agent-leader";
  world.k8s.write("/api/v1/namespaces/pbx-system", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "pbx-system" },
  }, "demo-2");
  world.k8s.write(lease, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "pbx-agent-leader", namespace: "pbx-system" },
    spec: { holderIdentity: "demo-2" },
  }, "demo-2");
  world.start();
  await world.pass(40_000);
  assert.equal(world.lastReport().node.leader, false);
  await world.pass(120_000);
  assert.equal(world.lastReport().node.leader, true);
  await world.stop();
});
